#include "launcher/after_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <set>
#include <string_view>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "sandbox/guarded_names.h"

namespace oncelatch::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using Verdict = HostVerdict;

constexpr std::chrono::seconds kLongest{10};
constexpr std::size_t kMostEntries = 1'000'000;
constexpr std::size_t kMostText = std::size_t{64} << 10;
constexpr std::size_t kMostTexts = std::size_t{16} << 20;
constexpr std::size_t kMostNames = std::size_t{16} << 20;  // bytes
constexpr std::size_t kShownLine = 160;

// Where one line runs something and its neighbours only describe: what such a line begins with.
struct LineThatMatters {
  const char* name;
  std::array<const char*, 2> begins;
};
constexpr LineThatMatters kLines[] = {
    {"git-rebase-todo", {"exec ", "x "}},
    {".gitmodules", {"url", "update"}},
};

constexpr Verdict kLinkedWorktree{"reported", "git", "a linked worktree of this repository"};

bool leads_out(const std::string& path, const std::string& target) {
  if (target.empty() || target[0] == '/') return true;
  int depth = static_cast<int>(std::count(path.begin(), path.end(), '/'));
  bool down = false;  // from there, a way back may be another link's
  for (std::size_t start = 0; start <= target.size();) {
    const std::size_t end = std::min(target.find('/', start), target.size());
    const std::string_view part = std::string_view(target).substr(start, end - start);
    if (part == "..") {
      if (down || --depth < 0) return true;
    } else if (!part.empty() && part != ".") {
      down = true;
    }
    start = end + 1;
  }
  return false;
}

bool is_program_of_host(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const char* directory : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/"})
    if (::access((directory + name).c_str(), X_OK) == 0) return true;
  return false;
}

// As git makes them with each repository; it runs none.
bool is_sample_hook(const std::string& path) {
  return path.ends_with(".sample") && path.find(".git/hooks/") != std::string::npos;
}

Verdict verdict_of(const sandbox::GuardedName& row) {
  return {sandbox::kGuardNames[static_cast<unsigned>(row.guard)], row.kind, row.reason};
}

}  // namespace

Verdict judge_effect(const std::string& path, mode_t mode, const std::string& text) {
  if (is_sample_hook(path)) return {};
  if (const sandbox::GuardedName* row = sandbox::guarded_name(path.c_str()); row != nullptr) return verdict_of(*row);
  if (const sandbox::GuardedName* row = S_ISLNK(mode) ? sandbox::guarded_name_below(path.c_str()) : nullptr;
      row != nullptr)
    return verdict_of(*row);
  if (S_ISLNK(mode) && sandbox::lies_in_git_directory(path.c_str()))
    return {"refused", "git", "git outside reads and writes where it leads"};
  if (S_ISLNK(mode) && leads_out(path, text))
    return {"reported", "link", "leads out of the workspace, or can be made to"};
  if (S_ISREG(mode) && (mode & (S_ISUID | S_ISGID)) != 0)
    return {"reported", "special", "runs with its owner's or group's rights"};
  if (S_ISFIFO(mode)) return {"reported", "special", "a pipe: who opens it waits for the other end"};
  if (S_ISSOCK(mode)) return {"reported", "special", "a socket"};
  if (S_ISREG(mode) && (mode & 0111) != 0 && is_program_of_host(path))
    return {"reported", "program", "named like a program of this machine"};
  return {};
}

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::string_view without_indent(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t\r");
  return start == std::string_view::npos ? std::string_view() : line.substr(start);
}

bool matters(const std::string& path, std::string_view line) {
  for (const LineThatMatters& row : kLines)
    if (path.ends_with(std::string("/") + row.name) || path == row.name)
      return line.starts_with(row.begins[0]) || line.starts_with(row.begins[1]);
  return false;
}

}  // namespace

void find_line(const std::string& path, const std::string& before, const std::string& after, HostEffect& effect) {
  if (after.find('\0') != std::string::npos) return;
  const std::vector<std::string_view> old = lines_of(before);
  const std::set<std::string_view> known(old.begin(), old.end());
  std::size_t number = 0;
  for (std::string_view line : lines_of(after)) {
    ++number;
    const std::string_view text = without_indent(line);
    if (text.empty() || known.count(line) != 0) continue;
    const bool best = matters(path, text);
    if (!best && effect.line_number != 0) continue;
    effect.line = escape_for_display(line, kShownLine);
    effect.line_number = number;
    if (best) return;
  }
}

// Everything of interest below the root, directory by directory, without following a link.
class AfterRun::Walk {
 public:
  Walk(int root, bool git_directory)
      : root_(root), above_(git_directory ? ".git/" : ""), deadline_(Clock::now() + kLongest) {}

  Tree take() {
    std::vector<std::string> open{""};
    while (!open.empty() && !exhausted_) {
      const std::string directory = std::move(open.back());
      open.pop_back();
      look_into(directory, open);
    }
    return std::move(tree_);
  }
  std::vector<std::string> unseen;  // AfterRun::Root

 private:
  void look_into(const std::string& directory, std::vector<std::string>& open) {
    Result<Fd> opened = open_beneath(root_, directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY);
    if (!opened) {
      // Gone meanwhile is fine; what can't be looked into isn't, and doesn't keep the rest from being looked at.
      if (opened.error().errno_value != ENOENT) unseen.push_back(directory);
      return;
    }
    DIR* stream = ::fdopendir(opened->get());
    if (stream == nullptr) {
      unseen.push_back(directory);
      return;
    }
    const int descriptor = opened->release();
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) {
        if (errno != 0) unseen.push_back(directory);
        break;
      }
      const std::string_view name(entry->d_name);
      if (name == "." || name == "..") continue;
      if (++entries_ > kMostEntries || Clock::now() > deadline_) {
        exhaust();
        break;
      }
      look_at(descriptor, entry->d_name, directory.empty() ? entry->d_name : directory + "/" + entry->d_name, open);
    }
    ::closedir(stream);
  }

  void look_at(int directory, const char* name, const std::string& path, std::vector<std::string>& open) {
    struct stat found {};
    if (::fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) unseen.push_back(path);
      return;
    }
    if (S_ISDIR(found.st_mode)) {
      if (path.size() < PATH_MAX / 2)
        open.push_back(path);
      else
        unseen.push_back(path);
    }
    std::string text = S_ISLNK(found.st_mode) ? target_of(directory, name) : std::string();
    const Verdict verdict = judge_effect(above_ + path, found.st_mode, text);
    if (verdict.guard == nullptr) return;
    names_ += path.size();
    if (names_ > kMostNames) return exhaust();
    if (S_ISREG(found.st_mode)) text = text_of(directory, name);
    tree_[path] = {.verdict = verdict,
                   .inode = found.st_ino,
                   .mode = found.st_mode,
                   .changed = found.st_ctim.tv_sec * std::int64_t{1'000'000'000} + found.st_ctim.tv_nsec,
                   .size = found.st_size,
                   .text = std::move(text)};
  }

  static std::string target_of(int directory, const char* name) {
    std::array<char, PATH_MAX> target;
    const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
    return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
  }

  // What can't be read is told by its change alone.
  std::string text_of(int directory, const char* name) {
    Fd file(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat found {};
    if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || texts_ >= kMostTexts) return {};
    std::string text(std::min<std::size_t>(static_cast<std::size_t>(found.st_size), kMostText), '\0');
    const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    texts_ += text.size();
    return text;
  }

  void exhaust() {
    unseen.emplace_back();
    exhausted_ = true;
  }

  int root_;
  std::string above_;  // what names below the root begin with
  bool exhausted_ = false;
  Clock::time_point deadline_;
  Tree tree_;
  std::size_t entries_ = 0;
  std::size_t texts_ = 0;
  std::size_t names_ = 0;
};

Result<AfterRun> AfterRun::begin(const std::vector<WatchedRoot>& roots) {
  AfterRun watch;
  for (const auto& [path, git_directory] : roots) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && !S_ISDIR(found.st_mode)) continue;  // a file that was named is known
    Root root{.path = path,
              .git_directory = git_directory,
              .directory = TRY(open_directory(path)),
              .before = {},
              .unseen = {}};
    Walk walk(root.directory.get(), git_directory);
    root.before = walk.take();
    root.unseen = std::move(walk.unseen);
    watch.complete_ = watch.complete_ && root.unseen.empty();
    watch.roots_.push_back(std::move(root));
  }
  return watch;
}

// `git worktree add` made them: pointer, address and place of the shared repository, which agree in every byte.
std::set<std::string> AfterRun::linked_worktrees(const std::vector<Tree>& trees) const {
  std::map<std::string, const Seen*> files;
  for (std::size_t i = 0; i < roots_.size(); ++i)
    for (const auto& [path, seen] : trees[i])
      if (S_ISREG(seen.mode) && seen.size == static_cast<std::int64_t>(seen.text.size()))
        files[roots_[i].path + "/" + path] = &seen;
  auto says = [&](const std::string& path, const std::string& text) {
    const auto found = files.find(path);
    return found != files.end() && found->second->text == text;
  };
  std::set<std::string> linked;
  for (const auto& [pointer, seen] : files) {
    constexpr std::string_view kPointer = "gitdir: ";
    if (!pointer.ends_with("/.git") || !seen->text.starts_with(kPointer) || !seen->text.ends_with('\n')) continue;
    const std::string own = seen->text.substr(kPointer.size(), seen->text.size() - kPointer.size() - 1);
    const std::size_t name = own.rfind('/');
    const bool in_place = name != std::string::npos && own.substr(0, name).ends_with("/.git/worktrees");
    if (!in_place || !says(own + "/gitdir", pointer + "\n") || !says(own + "/commondir", "../..\n")) continue;
    linked.insert({pointer, own + "/gitdir", own + "/commondir"});
  }
  return linked;
}

AfterRunReport AfterRun::end() const {
  AfterRunReport report;
  report.complete = complete_;
  std::vector<Tree> trees;
  for (const Root& root : roots_) {
    Walk walk(root.directory.get(), root.git_directory);
    trees.push_back(walk.take());
    report.complete = report.complete && walk.unseen.empty();
  }
  const std::set<std::string> linked = linked_worktrees(trees);
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    const Root& root = roots_[i];
    const Tree& now = trees[i];
    const Seen* above = nullptr;  // a new directory, which stands for what is of its kind below it
    std::string told;
    for (const auto& [path, seen] : now) {
      if (above != nullptr && path.starts_with(told) && is_told_by(*above, seen)) continue;
      auto found = root.before.find(path);
      const Seen* was = found == root.before.end() ? nullptr : &found->second;
      if (was != nullptr && is_unchanged(*was, seen)) continue;
      const bool is_linked = was == nullptr && linked.count(root.path + "/" + path) != 0;
      const Verdict& verdict = is_linked ? kLinkedWorktree : seen.verdict;
      if (S_ISDIR(seen.mode) && was == nullptr) {
        above = &seen;
        told = path + "/";
      }
      HostEffect effect{.path = root.path + "/" + path,
                        .guard = verdict.guard,
                        .kind = verdict.kind,
                        .reason = verdict.reason,
                        .change = was != nullptr ? "changed" : "new",
                        .line = {}};
      find_line(path, was != nullptr ? was->text : std::string(), seen.text, effect);
      if (!S_ISREG(seen.mode)) effect.line_number = 0;
      report.effects.push_back(std::move(effect));
    }
  }
  return report;
}

AfterRun::Place AfterRun::place_of(const HostEffect& effect) const {
  for (const Root& root : roots_) {
    if (!effect.path.starts_with(root.path + "/")) continue;
    Place place{.root = root.directory.get(), .path = effect.path.substr(root.path.size() + 1), .text = {}};
    auto hides = [&](const std::string& unseen) {
      return unseen.empty() || place.path == unseen || place.path.starts_with(unseen + "/");
    };
    place.known = std::none_of(root.unseen.begin(), root.unseen.end(), hides);
    const auto found = root.before.find(place.path);
    if (found == root.before.end()) return place;
    const Seen& was = found->second;
    place.was = was.mode;
    place.inode = was.inode;
    place.whole = S_ISLNK(was.mode) || (S_ISREG(was.mode) && was.text.size() == static_cast<std::size_t>(was.size));
    place.text = was.text;
    return place;
  }
  return {};
}

bool AfterRun::is_told_by(const Seen& directory, const Seen& below) {
  return std::string_view(directory.verdict.kind) == below.verdict.kind &&
         std::string_view(directory.verdict.guard) == below.verdict.guard;
}

// A directory changes with everything that is made in it.
bool AfterRun::is_unchanged(const Seen& was, const Seen& is) {
  if (was.inode != is.inode || was.mode != is.mode) return false;
  return S_ISDIR(is.mode) || (was.changed == is.changed && was.size == is.size);
}

}  // namespace oncelatch::launcher
