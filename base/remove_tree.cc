// One directory is open at a time. Going down opens the child and closes the parent; going up opens ".." and compares
// its identity with the parent's as it was on the way down, so neither depth nor a moved directory matters.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <vector>

#include "base/beneath.h"
#include "base/own_directory.h"
#include "base/untrusted.h"

namespace oncelatch {

namespace {

constexpr std::size_t kBatch = 1024;           // subdirectory names collected in one pass
constexpr std::size_t kMostPending = 1 << 16;  // names held over all levels; then one a pass
constexpr int kMostPasses = 100'000;           // somebody keeps adding entries

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

Identity identity_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

class TreeRemover {
 public:
  TreeRemover(int parent, std::string name) : outside_(parent), top_(std::move(name)) {}
  Status run();

 private:
  struct Level {
    std::string name;
    Identity identity;
    std::vector<std::string> pending;  // subdirectories still to enter
    std::set<std::string> kept;        // could not be removed
    int passes = 0;
  };

  bool enter(int parent, const std::string& name);
  bool collect();
  void entry(const char* name, unsigned char type);
  Status leave();
  void enter_next();
  void remember(const std::string& name, int error);

  int outside_;
  std::string top_;
  Fd current_;
  std::vector<Level> levels_;
  std::size_t pending_ = 0;
  std::string first_name_;
  int first_error_ = 0;
};

void TreeRemover::remember(const std::string& name, int error) {
  if (!levels_.empty()) levels_.back().kept.insert(name);
  if (first_error_ != 0) return;
  first_error_ = error;
  first_name_ = name;
}

// On false nothing was entered; the entry is gone already, or was remembered as kept.
bool TreeRemover::enter(int parent, const std::string& name) {
  Fd child = open_own_directory(parent, name.c_str(), RESOLVE_NO_XDEV);
  if (!child) {
    int error = errno;
    if (error == ENOENT) return false;
    bool no_directory = error == ENOTDIR || error == ELOOP;
    if (no_directory && (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT)) return false;
    remember(name, error);
    return false;
  }
  struct stat status {};
  if (::fstat(child.get(), &status) == 0 && (status.st_mode & 0700) != 0700) ::fchmod(child.get(), 0700);
  levels_.push_back({name, identity_of(child.get()), {}, {}, 0});
  current_ = std::move(child);
  return true;
}

void TreeRemover::entry(const char* name, unsigned char type) {
  Level& level = levels_.back();
  if (level.kept.count(name) != 0) return;
  if (type != DT_DIR) {
    if (::unlinkat(current_.get(), name, 0) == 0 || errno == ENOENT) return;
    if (errno != EISDIR) return remember(name, errno);
  }
  level.pending.emplace_back(name);
  ++pending_;
}

// Removes the files of the current directory and collects its subdirectories; false when none is left to enter.
bool TreeRemover::collect() {
  if (++levels_.back().passes > kMostPasses) {
    remember(levels_.back().name, EBUSY);
    return false;
  }
  std::size_t most = pending_ < kMostPending ? kBatch : 1;
  if (::lseek(current_.get(), 0, SEEK_SET) < 0) return false;
  alignas(dirent64) std::array<char, 32768> buffer;
  while (levels_.back().pending.size() < most) {
    ssize_t got = ::getdents64(current_.get(), buffer.data(), buffer.size());
    if (got < 0) remember(levels_.back().name, errno);
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      const auto* found = reinterpret_cast<const dirent64*>(buffer.data() + at);
      at += found->d_reclen;
      std::string_view name = found->d_name;
      if (name != "." && name != "..") entry(found->d_name, found->d_type);
    }
  }
  return !levels_.back().pending.empty();
}

void TreeRemover::enter_next() {
  Level& level = levels_.back();
  std::string name = std::move(level.pending.back());
  level.pending.pop_back();
  --pending_;
  enter(current_.get(), name);
}

// Goes up one level and removes the directory that was left.
Status TreeRemover::leave() {
  std::string name = std::move(levels_.back().name);
  levels_.pop_back();
  int parent = outside_;
  if (!levels_.empty()) {
    Fd up(::openat(current_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!up) return fail_errno("file", escape_for_display(name, 256), errno, {}, "go up from");
    if (!(identity_of(up.get()) == levels_.back().identity)) {
      return fail_errno("file", escape_for_display(name, 256), ESTALE, {}, "was moved while its tree was removed");
    }
    current_ = std::move(up);
    parent = current_.get();
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) remember(name, errno);
  return {};
}

Status TreeRemover::run() {
  enter(outside_, top_);
  while (!levels_.empty()) {
    if (!levels_.back().pending.empty() || collect()) {
      enter_next();
    } else {
      TRY(leave());
    }
  }
  if (first_error_ == 0) return {};
  return fail_errno("file", escape_for_display(first_name_, 256), first_error_,
                    "unmount or remove what is left by hand", "remove from tree " + escape_for_display(top_, 256));
}

}  // namespace

Status remove_tree(int dir, const std::string& name) {
  std::size_t slash = name.rfind('/');
  if (slash != std::string::npos) {
    Result<Fd> parent = open_beneath(dir, name.substr(0, slash), O_RDONLY | O_DIRECTORY);
    if (!parent && parent.error().errno_value == ENOENT) return {};
    if (!parent) return Failure(parent.error());
    return remove_tree(parent->get(), name.substr(slash + 1));
  }
  if (name.empty() || name == "." || name == ".." || name.find('\0') != std::string::npos) {
    return fail_errno("file", name, EINVAL, "name the tree beneath its directory", "remove tree");
  }
  return TreeRemover(dir, name).run();
}

}  // namespace oncelatch
