#include "launcher/git_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/git_index.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::size_t kMostRepositories = 1024;
constexpr std::size_t kMostDepth = 8;  // of a submodule's name
constexpr std::size_t kMostConfig = std::size_t{1} << 20;

using Judge = const char* (*)(std::string_view bytes, std::size_t hash_size);

std::string_view line_of(std::string_view bytes) {
  return bytes.substr(0, std::min(bytes.find('\n'), bytes.size()));
}

const char* judge_index(std::string_view bytes, std::size_t hash_size) {
  IndexNames names(bytes, hash_size);
  for (std::string_view name; names.next(name);) {
  }
  return names.failed() ? "git would write, read or remove files elsewhere by it" : nullptr;
}

const char* judge_counter(std::string_view bytes, std::size_t) {
  std::string_view text = bytes;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const bool fine = text.size() < 12 && text.find_first_not_of("0123456789") == std::string_view::npos;
  return fine ? nullptr : "a shell's prompt may run what it says";
}

// Whatever git writes through such a name, it writes into the file that is named.
const char* judge_reference(std::string_view bytes, std::size_t) {
  return bytes.substr(0, 4) == "ref:" ? "git would write into the file that it names" : nullptr;
}

const char* judge_strategy(std::string_view bytes, std::size_t) {
  constexpr std::array<std::string_view, 8> kOwn = {"",        "ort",  "recursive", "resolve",
                                                    "octopus", "ours", "subtree",   "recursive-ours"};
  const bool own = std::find(kOwn.begin(), kOwn.end(), line_of(bytes)) != kOwn.end();
  return own ? nullptr : "git runs a program of that name";
}

const char* judge_options(std::string_view bytes, std::size_t) {
  for (std::size_t start = 0; start < bytes.size();) {
    std::string_view line = line_of(bytes.substr(start));
    start += line.size() + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    constexpr std::string_view kKey = "strategy";
    std::string lower(line.substr(0, kKey.size()));
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const std::size_t equals = line.find('=');
    if (lower != kKey || equals == std::string_view::npos) continue;
    std::string_view value = line.substr(equals + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    const std::string_view key = line.substr(kKey.size(), equals - kKey.size());
    if (key.find_first_not_of(" \t") != std::string_view::npos) continue;  // strategy-option
    if (judge_strategy(value, 0) != nullptr) return "git runs a program of that name";
  }
  return nullptr;
}

// "OBJECT\tPATH" and NUL each.
const char* judge_resolutions(std::string_view bytes, std::size_t) {
  constexpr const char* kElsewhere = "git would copy a file from elsewhere into the repository";
  for (std::size_t start = 0; start < bytes.size();) {
    const std::size_t end = bytes.find('\0', start);
    if (end == std::string_view::npos) return kElsewhere;
    const std::string_view record = bytes.substr(start, end - start);
    const std::size_t tab = record.find('\t');
    if (tab == std::string_view::npos || !is_name_in_work_tree(record.substr(tab + 1))) return kElsewhere;
    start = end + 1;
  }
  return nullptr;
}

struct JudgedFile {
  const char* name;
  Judge judge;
};
constexpr JudgedFile kFiles[] = {
    {"index", judge_index},
    {"ORIG_HEAD", judge_reference},
    {"FETCH_HEAD", judge_reference},
    {"MERGE_HEAD", judge_reference},
    {"CHERRY_PICK_HEAD", judge_reference},
    {"REVERT_HEAD", judge_reference},
    {"REBASE_HEAD", judge_reference},
    {"BISECT_HEAD", judge_reference},
    {"BISECT_EXPECTED_REV", judge_reference},
    {"AUTO_MERGE", judge_reference},
    {"MERGE_AUTOSTASH", judge_reference},
    {"rebase-merge/msgnum", judge_counter},
    {"rebase-merge/end", judge_counter},
    {"rebase-apply/next", judge_counter},
    {"rebase-apply/last", judge_counter},
    {"rebase-merge/strategy", judge_strategy},
    {"sequencer/opts", judge_options},
    {"MERGE_RR", judge_resolutions},
};

Judge judge_of(std::string_view path) {
  for (const JudgedFile& file : kFiles) {
    const std::string_view name = file.name;
    if (path == name || (path.ends_with(name) && path[path.size() - name.size() - 1] == '/')) return file.judge;
  }
  const std::size_t slash = path.rfind('/');
  return path.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with("sharedindex.") ? judge_index
                                                                                                  : nullptr;
}

// One git directory: the repository's, a worktree's or a submodule's.
class State {
 public:
  State(const std::string& place, int directory, std::size_t hash_size, std::vector<HostEffect>& found)
      : place_(place), directory_(directory), hash_size_(hash_size), found_(found) {}

  void check() {
    for (const JudgedFile& file : kFiles) look_at(file.name);
    for (const std::string& name : names_with("sharedindex.")) look_at(name);
  }

 private:
  void look_at(const std::string& name) {
    struct stat status {};
    if (::fstatat(directory_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    const Result<std::string> bytes = read_file(directory_, name, kMostBytes);
    const char* why = bytes ? judge_git_file(name, *bytes, hash_size_) : "couldn't be read";
    if (why == nullptr) return;
    HostEffect effect{
        .path = place_ + "/" + name, .guard = "refused", .kind = "git", .reason = why, .change = "changed", .line = {}};
    if (bytes && name.find("index") == std::string::npos) effect.line = escape_for_display(line_of(*bytes), 160);
    effect.quarantined = move_aside(name);
    found_.push_back(std::move(effect));
  }

  // Beside it, under a name that git doesn't know; empty: it's still there.
  [[nodiscard]] std::string move_aside(const std::string& name) const {
    const std::size_t slash = name.rfind('/');
    const std::string above = slash == std::string::npos ? "." : name.substr(0, slash);
    const std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
    const Result<Fd> parent = open_beneath(directory_, above, O_RDONLY | O_DIRECTORY);
    for (int i = 1; parent && i < 100; ++i) {
      const std::string aside = "oncelatch-refused-" + last + "-" + std::to_string(i);
      if (rename_by(parent->get(), last, parent->get(), aside, RENAME_NOREPLACE) == 0)
        return place_ + "/" + (slash == std::string::npos ? aside : above + "/" + aside);
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> names_with(std::string_view beginning) const {
    std::vector<std::string> names;
    DIR* stream = ::opendir(place_.c_str());
    while (const dirent* entry = stream == nullptr ? nullptr : ::readdir(stream))
      if (std::string_view(entry->d_name).starts_with(beginning) && names.size() < 64)
        names.emplace_back(entry->d_name);
    if (stream != nullptr) ::closedir(stream);
    return names;
  }

  const std::string& place_;
  int directory_;
  std::size_t hash_size_;
  std::vector<HostEffect>& found_;
};

bool is_directory(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

bool exists(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0;
}

// Directories below that hold an index or a HEAD.
void add_repositories(const std::string& directory, std::size_t depth, std::vector<std::string>& all) {
  DIR* stream = depth == 0 ? nullptr : ::opendir(directory.c_str());
  std::vector<std::string> below;
  while (const dirent* entry = stream == nullptr ? nullptr : ::readdir(stream))
    if (entry->d_name[0] != '.' && below.size() < kMostRepositories) below.push_back(directory + "/" + entry->d_name);
  if (stream != nullptr) ::closedir(stream);
  for (const std::string& path : below) {
    if (all.size() >= kMostRepositories || !is_directory(path)) continue;
    const bool is_one = exists(path + "/HEAD") || exists(path + "/index");
    if (is_one) all.push_back(path);
    if (is_one) add_repositories(path + "/modules", kMostDepth, all);
    if (!is_one) add_repositories(path, depth - 1, all);
  }
}

}  // namespace

// extensions.objectFormat in the settings, which nothing inside can write.
std::size_t object_name_size(const std::string& git_directory) {
  constexpr std::size_t kSha1 = 20;
  constexpr std::size_t kSha256 = 32;
  const Result<Fd> directory = open_directory(git_directory);
  Result<std::string> config =
      directory ? read_file(directory->get(), "config", kMostConfig) : Failure(directory.error());
  if (!config) return kSha1;
  for (char& c : *config)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::size_t key = config->find("objectformat");
  const bool longer = key != std::string::npos &&
                      line_of(std::string_view(*config).substr(key)).find("sha256") != std::string_view::npos;
  return longer ? kSha256 : kSha1;
}

bool is_judged_git_file(std::string_view path) {
  return judge_of(path) != nullptr;
}

const char* judge_git_file(std::string_view path, std::string_view bytes, std::size_t hash_size) {
  const Judge judge = judge_of(path);
  return judge == nullptr ? nullptr : judge(bytes, hash_size);
}

std::vector<HostEffect> check_git_state(const std::string& git_directory) {
  std::vector<HostEffect> found;
  if (!is_directory(git_directory)) return found;
  const std::size_t hash_size = object_name_size(git_directory);
  std::vector<std::string> places = {git_directory};
  add_repositories(git_directory + "/worktrees", 1, places);
  add_repositories(git_directory + "/modules", kMostDepth, places);
  if (places.size() >= kMostRepositories)
    found.push_back({.path = git_directory,
                     .guard = "refused",
                     .kind = "git",
                     .reason = "holds more worktrees and submodules than can be looked at",
                     .change = "changed",
                     .line = {}});
  for (const std::string& place : places) {
    const Result<Fd> opened = open_directory(place);
    if (opened) State(place, opened->get(), hash_size, found).check();
  }
  return found;
}

}  // namespace oncelatch::launcher
