#include "launcher/change_apply.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/beneath.h"
#include "launcher/git_state.h"
#include "sandbox/guard_rules.h"
#include "sandbox/guarded_names.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kTheirs = "was changed in the workspace since the run began";

// What stands in the way, as text; empty: done.
using Why = std::string;

Why failed(const char* doing) {
  return std::string(doing) + ": " + std::strerror(errno);
}

bool is_same_object(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_mode == other.st_mode &&
         one.st_size == other.st_size && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
         one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

// Holes stay holes.
Why copy_bytes(int from, int to) {
  struct stat found {};
  if (::fstat(from, &found) != 0 || !S_ISREG(found.st_mode)) return "isn't a regular file any more";
  if (::ftruncate(to, found.st_size) != 0) return failed("make room");
  std::array<char, 1 << 16> buffer;
  for (off_t at = 0; at < found.st_size;) {
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole to its end
    if (data < 0) return failed("seek");
    const off_t end = ::lseek(from, data, SEEK_HOLE);
    if (end < 0) return failed("seek");
    for (at = data; at < end;) {
      const ssize_t got =
          ::pread(from, buffer.data(), std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(end - at)), at);
      if (got <= 0) return failed("read");
      if (::pwrite(to, buffer.data(), static_cast<std::size_t>(got), at) != got) return failed("write");
      at += got;
    }
  }
  return {};
}

class Promotion {
 public:
  Promotion(const ChangeSet& set, int upper, int workspace)
      : upper_(upper), workspace_(workspace), path_(set.workspace()), started_(set.started()) {
    ready_ = rules_.add(path_.c_str(), true);
  }

  // A ref never names an object that isn't there yet, and nothing goes before what takes its place is there: a name
  // that is still a directory's comes last.
  std::vector<NotPromoted> apply(const std::vector<Change>& chosen) {
    std::vector<const Change*> first;
    std::vector<const Change*> then;
    std::vector<const Change*> gone;
    std::vector<const Change*> last;
    for (const Change& change : chosen) {
      const bool object =
          sandbox::lies_in_git_directory(change.path.c_str()) && change.path.find("/objects/") != std::string::npos;
      const bool blocked = S_ISDIR(change.was) && !S_ISDIR(change.mode);
      if (change.what == Change::What::removed)
        gone.insert(gone.begin(), &change);
      else
        (blocked ? last : object ? first : then).push_back(&change);
    }
    for (const auto* group : {&first, &then, &gone, &last})
      for (const Change* change : *group) try_one(*change);
    return std::move(left_);
  }
  [[nodiscard]] const std::vector<std::string>& done() const { return done_; }

 private:
  void try_one(const Change& change) {
    Why why = reason_against(change);
    if (why.empty()) why = change.what == Change::What::removed ? remove(change) : put(change);
    why.empty() ? done_.push_back(key_of(change)) : left_.push_back({change, why});
  }

  Why reason_against(const Change& change) const {
    if (!ready_) return "the workspace's path is too long for the guard";
    if (!change.unfit.empty()) return change.unfit + " isn't promoted";
    const std::string whole = path_ + "/" + change.path;
    const auto making = S_ISDIR(change.mode)   ? sandbox::Making::directory
                        : S_ISLNK(change.mode) ? sandbox::Making::symbolic_link
                                               : sandbox::Making::file;
    sandbox::Ruling ruling = rules_.judge_changing(whole.c_str());
    if (change.what != Change::What::removed) ruling = graver(ruling, rules_.judge_making(whole.c_str(), making));
    const bool refused = ruling == sandbox::Ruling::refused;
    if (refused) {
      const bool named = change.verdict.guard != nullptr && std::strcmp(change.verdict.guard, "refused") == 0;
      return std::string("refused: ") +
             (named ? change.verdict.reason : "git would take its directory for a repository");
    }
    if (Why why = reason_against_content(change); !why.empty()) return why;
    return change.conflict ? kTheirs : "";
  }

  // Of git's own files some lead elsewhere by what they say.
  Why reason_against_content(const Change& change) const {
    constexpr std::size_t kMost = std::size_t{256} << 20;
    if (change.what == Change::What::removed || !S_ISREG(change.mode)) return {};
    if (!sandbox::lies_in_git_directory(change.path.c_str()) || !is_judged_git_file(change.path)) return {};
    const Fd from = open_in_layer(upper_, change.path, O_RDONLY);
    const Result<std::string> bytes = from ? read_whole(from.get(), change.path, kMost) : Failure(Error{});
    if (!bytes) return "can't be looked at";
    const std::string git = path_ + "/" + change.path.substr(0, change.path.rfind(".git/") + 4);
    const char* why = judge_git_file(change.path, *bytes, object_name_size(git));
    return why == nullptr ? Why() : std::string("refused: ") + why;
  }

  // Beneath the workspace, through no link.
  Why open_parent(const std::string& path, Fd& parent) const {
    Result<Fd> opened = open_beneath(workspace_, directory_of(path), O_RDONLY | O_DIRECTORY);
    if (opened) {
      parent = std::move(*opened);
      return {};
    }
    if (opened.error().errno_value == ENOENT) return "its directory isn't there";
    return "its directory can't be opened: " + std::string(std::strerror(opened.error().errno_value));
  }

  // What is there now, which nobody may have changed; false where nothing is.
  Why look(int parent, const Change& change, struct stat& found, bool& there) const {
    there = ::fstatat(parent, name_of(change.path).c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT) return failed("look at it");
    if (there != (change.was != 0))
      return there ? "was made in the workspace meanwhile" : "was removed in the workspace meanwhile";
    if (there && !S_ISDIR(found.st_mode) && changed_since(found, started_)) return kTheirs;
    return {};
  }

  Why put(const Change& change) {
    Fd parent;
    if (Why why = open_parent(change.path, parent); !why.empty()) return why;
    struct stat was {};
    bool there = false;
    if (S_ISDIR(change.was) && !S_ISDIR(change.mode)) {  // gone by now, or something of it is kept
      if (::fstatat(parent.get(), name_of(change.path).c_str(), &was, AT_SYMLINK_NOFOLLOW) == 0)
        return "the directory of this name couldn't be removed";
    } else if (Why why = look(parent.get(), change, was, there); !why.empty()) {
      return why;
    }
    if (S_ISDIR(change.mode)) return put_directory(parent.get(), change, there ? &was : nullptr);
    std::string temporary;
    Why why = make_beside(parent.get(), change, there ? &was : nullptr, temporary);
    if (why.empty()) why = give_name(parent.get(), temporary, name_of(change.path), there ? &was : nullptr);
    if (!why.empty() && !temporary.empty()) ::unlinkat(parent.get(), temporary.c_str(), 0);
    return why;
  }

  Why put_directory(int parent, const Change& change, const struct stat* was) {
    const std::string name = name_of(change.path);
    if (was != nullptr && S_ISDIR(was->st_mode)) {
      Result<Fd> opened = open_beneath(parent, name, O_RDONLY | O_DIRECTORY);
      const mode_t kept = was->st_mode & 07000U;
      return opened && ::fchmod(opened->get(), kept | (change.mode & 0777U)) == 0 ? Why() : failed("change its mode");
    }
    if (was != nullptr)
      if (Why why = take_away(parent, name, *was); !why.empty()) return why;
    Result<Fd> made = make_directory(parent, name, change.mode & 0777U);
    if (!made) return "make it: " + std::string(std::strerror(made.error().errno_value));
    return give_owner(parent, made->get(), nullptr);
  }

  // The new object under a name of its own; `temporary` stays empty where none was made.
  Why make_beside(int parent, const Change& change, const struct stat* was, std::string& temporary) {
    Fd source = open_in_layer(upper_, directory_of(change.path), O_RDONLY | O_DIRECTORY);
    if (!source) return failed("open its directory in the set");
    const std::string name = name_of(change.path);
    const std::string beside = next_name();
    if (S_ISLNK(change.mode)) {
      const std::string target = link_target(source.get(), name);
      if (target.empty() || ::symlinkat(target.c_str(), parent, beside.c_str()) != 0) return failed("make the link");
      temporary = beside;
      return {};
    }
    Fd from = open_in_layer(source.get(), name, O_RDONLY);
    if (!from) return failed("open it in the set");
    Result<Fd> to = open_beneath(parent, beside, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!to) return "make it: " + std::string(std::strerror(to.error().errno_value));
    temporary = beside;
    Why why = copy_bytes(from.get(), to->get());
    if (why.empty()) why = give_owner(parent, to->get(), was);
    if (why.empty() && ::fchmod(to->get(), change.mode & 0777U) != 0) why = failed("change its mode");
    return why;
  }

  // As root: not root's, in a directory of somebody else.
  static Why give_owner(int parent, int file, const struct stat* was) {
    struct stat directory {};
    if (::geteuid() != 0) return {};
    if (was == nullptr && ::fstat(parent, &directory) != 0) return failed("look at its directory");
    const struct stat& owner = was != nullptr ? *was : directory;
    return ::fchown(file, owner.st_uid, owner.st_gid) == 0 ? Why() : failed("give it its owner");
  }

  // What it replaces is looked at once it's out of the way: another one goes back.
  static Why give_name(int parent, const std::string& temporary, const std::string& name, const struct stat* was) {
    if (was == nullptr) {
      if (rename_by(parent, temporary, parent, name, RENAME_NOREPLACE) == 0) return {};
      return errno == EEXIST ? "was made in the workspace meanwhile" : failed("give it its name");
    }
    if (rename_by(parent, temporary, parent, name, RENAME_EXCHANGE) != 0) return failed("replace it");
    struct stat taken {};
    if (::fstatat(parent, temporary.c_str(), &taken, AT_SYMLINK_NOFOLLOW) == 0 && is_same_object(taken, *was)) {
      ::unlinkat(parent, temporary.c_str(), 0);
      return {};
    }
    (void)rename_by(parent, temporary, parent, name, RENAME_EXCHANGE);
    return kTheirs;
  }

  Why take_away(int parent, const std::string& name, const struct stat& was) {
    const std::string aside = next_name();
    if (rename_by(parent, name, parent, aside, RENAME_NOREPLACE) != 0) return failed("remove it");
    struct stat taken {};
    if (::fstatat(parent, aside.c_str(), &taken, AT_SYMLINK_NOFOLLOW) == 0 && is_same_object(taken, was))
      return ::unlinkat(parent, aside.c_str(), 0) == 0 ? Why() : failed("remove it");
    if (rename_by(parent, aside, parent, name, RENAME_NOREPLACE) == 0) return kTheirs;
    return std::string(kTheirs) + " and is called " + aside + " now";
  }

  Why remove(const Change& change) {
    Fd parent;
    if (Why why = open_parent(change.path, parent); !why.empty()) return why;
    struct stat was {};
    bool there = false;
    if (Why why = look(parent.get(), change, was, there); !why.empty()) return why;
    if (!S_ISDIR(was.st_mode)) return take_away(parent.get(), name_of(change.path), was);
    if (::unlinkat(parent.get(), name_of(change.path).c_str(), AT_REMOVEDIR) == 0) return {};
    return errno == ENOTEMPTY ? "something is left in it" : failed("remove it");
  }

  // One that the guard keeps from every agent.
  std::string next_name() { return ".oncelatch-apply-" + std::to_string(::getpid()) + "-" + std::to_string(++names_); }

  int upper_;
  int workspace_;
  std::string path_;
  std::int64_t started_;
  sandbox::GuardRules rules_;
  bool ready_ = false;
  unsigned names_ = 0;
  std::vector<std::string> done_;
  std::vector<NotPromoted> left_;
};

}  // namespace

Result<std::vector<NotPromoted>> apply_changes(const ChangeSet& set, const std::vector<Change>& chosen) {
  Fd workspace = TRY(set.open_workspace());
  Fd upper = TRY(set.open_upper());
  Promotion promotion(set, upper.get(), workspace.get());
  std::vector<NotPromoted> left = promotion.apply(chosen);
  // Before the set may go.
  if (::syncfs(workspace.get()) != 0) return fail_errno("changes", set.id(), errno, {}, "write to disk");
  TRY(set.add_promoted(promotion.done()));
  return left;
}

}  // namespace oncelatch::launcher
