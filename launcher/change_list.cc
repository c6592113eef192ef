#include "launcher/change_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <set>

#include "base/beneath.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostEntries = 1'000'000;
constexpr std::size_t kMostNames = std::size_t{64} << 20;
constexpr std::size_t kLongestPath = PATH_MAX / 2;
constexpr mode_t kRights = 0777;

using Names = std::set<std::string>;

// overlayfs(5), "userxattr".
bool has_attribute(int file, const char* name, std::optional<char> value = {}) {
  std::array<char, 64> found;
  const ssize_t size = ::fgetxattr(file, name, found.data(), found.size());
  if (size < 0) return errno == ERANGE && !value;
  return !value || (size == 1 && found[0] == *value);
}

bool is_whiteout(int directory, const std::string& name, const struct stat& found) {
  if (S_ISCHR(found.st_mode)) return found.st_rdev == 0;
  if (!S_ISREG(found.st_mode) || found.st_size != 0) return false;
  Fd file = open_in_layer(directory, name, O_RDONLY);
  return file && has_attribute(file.get(), "user.overlay.whiteout");
}

// No set-id, no sticky bit; its owner can read it, and work in a directory.
mode_t mode_as_promoted(mode_t mode) {
  return (mode & S_IFMT) | (mode & kRights) | (S_ISDIR(mode) ? 0700U : 0400U);
}

bool same_kind(mode_t one, mode_t other) {
  return ((one ^ other) & S_IFMT) == 0;
}

bool same_bytes(int one, int other) {
  std::vector<char> first(std::size_t{1} << 16);
  std::vector<char> second(first.size());
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(one, first.data(), first.size(), at);
    if (got < 0) return false;
    if (::pread(other, second.data(), static_cast<std::size_t>(got == 0 ? 1 : got), at) != got) return false;
    if (got == 0) return true;
    if (std::memcmp(first.data(), second.data(), static_cast<std::size_t>(got)) != 0) return false;
    at += got;
  }
}

class Walk {
 public:
  Walk(int upper, int workspace, std::int64_t started, const std::set<std::string>& promoted)
      : upper_(upper), workspace_(workspace), started_(started), promoted_(promoted) {
    auto is_promoted = [](const std::string& key) { return key[0] != kConflictKey; };
    partly_ = std::any_of(promoted.begin(), promoted.end(), is_promoted);
  }

  ChangeList take() {
    std::vector<Directory> open{{"", false}};
    while (!open.empty() && list_.complete) {
      const Directory directory = std::move(open.back());
      open.pop_back();
      look_into(directory, open);
    }
    std::sort(list_.changes.begin(), list_.changes.end(),
              [](const Change& a, const Change& b) { return a.path != b.path ? a.path < b.path : a.what > b.what; });
    return std::move(list_);
  }

 private:
  struct Directory {
    std::string path;
    bool alone;  // nothing of the one below it is seen in it: it is opaque, or lies in one that is
  };

  // False where there is more than is looked at.
  bool names_in(int directory, Names& names) {
    Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* stream = copy ? ::fdopendir(copy.get()) : nullptr;
    if (stream == nullptr) return false;
    (void)copy.release();
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      bytes_ += name.size();
      if (++entries_ > kMostEntries || bytes_ > kMostNames) break;
      names.insert(name);
      errno = 0;
    }
    const bool all = errno == 0 && entries_ <= kMostEntries && bytes_ <= kMostNames;
    ::closedir(stream);
    return all;
  }

  void look_into(const Directory& directory, std::vector<Directory>& open) {
    const std::string& path = directory.path;
    Fd upper = open_in_layer(upper_, path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
    Names names;
    if (!upper || !names_in(upper.get(), names)) {
      list_.complete = false;
      return;
    }
    Result<Fd> lower = open_beneath(workspace_, path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
    const int below = lower ? lower->get() : -1;
    const std::string before = path.empty() ? "" : path + "/";
    touched_ = below >= 0 ? was_touched(below) : has_attribute(upper.get(), "user.overlay.origin");
    const bool alone = directory.alone || has_attribute(upper.get(), "user.overlay.opaque", 'y');
    std::vector<Directory> inside;
    for (const std::string& name : names) look_at(upper.get(), below, name, before + name, inside);
    for (Directory& one : inside) open.push_back({std::move(one.path), alone});
    if (below >= 0 && alone) look_for_gone(below, before, names);
  }

  void look_for_gone(int below, const std::string& before, const Names& kept) {
    Names names;
    list_.complete = names_in(below, names) && list_.complete;
    for (const std::string& name : names)
      if (kept.count(name) == 0) add_gone(below, name, before + name);
  }

  void look_at(int directory, int below, const std::string& name, const std::string& path,
               std::vector<Directory>& open) {
    struct stat is {};
    struct stat was {};
    if (::fstatat(directory, name.c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0) {
      list_.complete = false;
      return;
    }
    const bool there = below >= 0 && ::fstatat(below, name.c_str(), &was, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_whiteout(directory, name, is)) {
      if (there) add_gone(below, name, path);
      return;
    }
    if (there && S_ISDIR(was.st_mode) && !S_ISDIR(is.st_mode)) add_gone(below, name, path);
    const bool too_deep = path.size() > kLongestPath;
    if (S_ISDIR(is.st_mode) && !too_deep) open.push_back({path, false});
    if (there && is_same(directory, below, name, is, was)) return;
    Change change;
    change.path = path;
    change.what = there && same_kind(is.st_mode, was.st_mode) ? Change::What::changed : Change::What::added;
    change.was = there ? was.st_mode : 0;
    change.mode = mode_as_promoted(is.st_mode);
    change.size = is.st_size;
    change.verdict = judge_effect(path, is.st_mode, S_ISLNK(is.st_mode) ? link_target(directory, name) : "");
    if (!S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode) && !S_ISLNK(is.st_mode)) change.unfit = "a pipe, socket or device";
    if (too_deep) change.unfit = "its path is too long";
    change.conflict =
        there ? !S_ISDIR(was.st_mode) && changed_since(was, started_) : was_taken(directory, name, path, is);
    list_.changes.push_back(std::move(change));
  }

  bool is_same(int directory, int below, const std::string& name, const struct stat& is, const struct stat& was) {
    if (!same_kind(is.st_mode, was.st_mode)) return false;
    if (S_ISLNK(is.st_mode)) return link_target(directory, name) == link_target(below, name);
    if ((mode_as_promoted(is.st_mode) & kRights) != (mode_as_promoted(was.st_mode) & kRights)) return false;
    if (S_ISDIR(is.st_mode)) return true;
    if (!S_ISREG(is.st_mode) || is.st_size != was.st_size) return false;
    Fd one = open_in_layer(directory, name, O_RDONLY);
    Result<Fd> other = open_beneath(below, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    return one && other && same_bytes(one.get(), other->get());
  }

  // It came from a file below: one that the host took away, where it did something in the directory, else one that has
  // this name only inside. Once something was promoted, we did something there ourselves, and what was told before
  // holds.
  bool was_taken(int directory, const std::string& name, const std::string& path, const struct stat& is) const {
    if (!S_ISREG(is.st_mode)) return false;
    if (partly_ || promoted_.count(kConflictKey + path) != 0) return promoted_.count(kConflictKey + path) != 0;
    Fd file = touched_ ? open_in_layer(directory, name, O_RDONLY) : Fd();
    return file && has_attribute(file.get(), "user.overlay.origin");
  }

  // Something was made, removed or renamed in the directory.
  [[nodiscard]] bool was_touched(int directory) const {
    struct stat found {};
    return ::fstat(directory, &found) != 0 ||
           found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec >= started_;
  }

  // With all that lies in it.
  void add_gone(int below, const std::string& top, const std::string& path) {
    struct Place {
      std::string inside;  // relative to `below`
      std::string path;
    };
    std::vector<Place> open{{top, path}};
    while (!open.empty()) {
      const Place place = std::move(open.back());
      open.pop_back();
      struct stat was {};
      Result<Fd> parent = open_beneath(below, directory_of(place.inside), O_RDONLY | O_DIRECTORY);
      if (!parent || ::fstatat(parent->get(), name_of(place.inside).c_str(), &was, AT_SYMLINK_NOFOLLOW) != 0) continue;
      Change change;
      change.path = place.path;
      change.what = Change::What::removed;
      change.was = was.st_mode;
      change.verdict = judge_effect(place.path, was.st_mode, "");
      change.conflict = !S_ISDIR(was.st_mode) && changed_since(was, started_);
      if (place.path.size() > kLongestPath) change.unfit = "its path is too long";
      const bool enter = S_ISDIR(was.st_mode) && change.unfit.empty();
      list_.changes.push_back(std::move(change));
      Result<Fd> opened = enter ? open_beneath(below, place.inside, O_RDONLY | O_DIRECTORY) : Result<Fd>(Fd());
      Names names;
      if (!enter) continue;
      if (!opened || !names_in(opened->get(), names)) list_.complete = false;
      for (const std::string& name : names) open.push_back({place.inside + "/" + name, place.path + "/" + name});
    }
  }

  int upper_;
  int workspace_;
  std::int64_t started_;
  const std::set<std::string>& promoted_;
  bool partly_ = false;
  bool touched_ = false;  // the directory that is looked at: by the host, as far as can be told
  ChangeList list_;
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

// The owner gets what the agent took away, of the very object.
Fd open_anyway(int directory, const std::string& path, int flags) {
  Result<Fd> handle = open_beneath(directory, path, O_PATH);
  struct stat found {};
  if (!handle || ::fstat(handle->get(), &found) != 0 || S_ISLNK(found.st_mode)) return Fd();
  const std::string itself = "/proc/self/fd/" + std::to_string(handle->get());
  const mode_t more = S_ISDIR(found.st_mode) ? 0700U : 0400U;
  if (::chmod(itself.c_str(), (found.st_mode & 07777U) | more) != 0) return Fd();
  Result<Fd> opened = open_beneath(directory, path, flags | O_NONBLOCK | O_NOCTTY);
  return opened ? std::move(*opened) : Fd();
}

}  // namespace

Fd open_in_layer(int directory, const std::string& path, int flags) {
  Result<Fd> opened = open_beneath(directory, path, flags | O_NONBLOCK | O_NOCTTY);
  if (opened) return std::move(*opened);
  return opened.error().errno_value == EACCES ? open_anyway(directory, path, flags) : Fd();
}

std::string link_target(int directory, const std::string& name) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

bool changed_since(const struct stat& found, std::int64_t started) {
  return found.st_ctim.tv_sec * std::int64_t{1'000'000'000} + found.st_ctim.tv_nsec >= started;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string key_of(const Change& change) {
  return (change.what == Change::What::removed ? "-" : "+") + change.path;
}

Result<ChangeList> list_changes(const ChangeSet& set) {
  Fd workspace = TRY(set.open_workspace());
  Fd upper = TRY(set.open_upper());
  const std::set<std::string> promoted = set.promoted();
  ChangeList list = Walk(upper.get(), workspace.get(), set.started(), promoted).take();
  std::erase_if(list.changes, [&](const Change& change) { return promoted.count(key_of(change)) != 0; });
  return list;
}

}  // namespace oncelatch::launcher
