#include "sandbox/idmap.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "sandbox/syscall.h"

namespace oncelatch::sandbox {

namespace {

std::string extent(std::uint64_t from, std::uint64_t to, std::uint64_t count) {
  return std::to_string(from) + ' ' + std::to_string(to) + ' ' + std::to_string(count) + '\n';
}

// Ids from `first` up to the higher of the two; `on_disk` becomes `inside`, and nothing else does.
std::string map_text(std::uint64_t first, std::uint64_t on_disk, std::uint64_t inside) {
  const auto [low, high] = std::minmax(on_disk, inside);
  std::string map = extent(on_disk, inside, 1);
  if (low > first) map += extent(first, first, low - first);
  const std::uint64_t next = std::max(low + 1, first);
  if (high > next) map += extent(next, next, high - next);
  return map;
}

int write_map(const std::string& path, const std::string& map) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  return ::write(file.get(), map.data(), map.size()) == static_cast<ssize_t>(map.size()) ? 0 : errno;
}

int set_attributes(int tree, bool recursive, mount_attr change) {
  const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
  return ::syscall(SYS_mount_setattr, tree, "", flags, &change, sizeof change) == 0 ? 0 : errno;
}

// It borrows our memory and our descriptors while we stand still, as after vfork: raw calls alone. A process may always
// open its own namespace; ours can't open the child's, since our memory isn't dumpable.
__attribute__((no_sanitize("address", "undefined"))) int open_own_namespace(void* opened) {
  *static_cast<long*>(opened) = sys::call(__NR_openat, AT_FDCWD, "/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  return 0;
}

}  // namespace

Fd detached_tree(int source) {
  constexpr unsigned kFlags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
  Fd tree(static_cast<int>(::syscall(SYS_open_tree, source, "", kFlags)));
  mount_attr change{};
  change.propagation = MS_PRIVATE;
  const int error = tree ? set_attributes(tree.get(), true, change) : 0;
  if (error == 0) return tree;
  errno = error;
  return {};
}

int owner_of(int descriptor, Owner& owner) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return errno;
  owner = {found.st_uid, found.st_gid};
  return 0;
}

// The child has ended and waits to be reaped while its maps are written; the namespace lives on in our descriptor.
int OwnerMapping::make(Owner on_disk, Owner inside) {
  on_disk_ = on_disk;
  space_.reset();
  alignas(16) std::array<char, 16384> stack;
  long opened = -EAGAIN;
  const pid_t child = ::clone(open_own_namespace, stack.data() + stack.size(),
                              CLONE_NEWUSER | CLONE_VM | CLONE_FILES | CLONE_VFORK, &opened);
  if (child < 0) return errno;
  Fd space(opened >= 0 ? static_cast<int>(opened) : -1);
  const std::string directory = "/proc/" + std::to_string(child);
  int error = opened < 0 ? static_cast<int>(-opened) : 0;
  if (error == 0) error = write_map(directory + "/gid_map", map_text(0, on_disk.gid, inside.gid));
  if (error == 0) error = write_map(directory + "/uid_map", map_text(1, on_disk.uid, inside.uid));
  while (::waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  if (error == 0) space_ = std::move(space);
  return error;
}

int OwnerMapping::apply(int tree, bool recursive) const {
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_IDMAP;
  change.userns_fd = static_cast<std::uint64_t>(space_.get());
  return set_attributes(tree, recursive, change);
}

}  // namespace oncelatch::sandbox
