#include "sandbox/idmap.h"

#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/stat.h>

#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

constexpr int kAnyChild = 0x40000000;  // __WALL: also one that sends no signal

void add_extent(SmallText& map, std::uint64_t from, std::uint64_t to, std::uint64_t count) {
  map.number(from).text(" ").number(to).text(" ").number(count).text("\n");
}

// Ids from `first` up to the higher of the two; `on_disk` becomes `inside`, and nothing else does.
void write_map(SmallText& map, std::uint64_t first, std::uint64_t on_disk, std::uint64_t inside) {
  std::uint64_t low = on_disk < inside ? on_disk : inside;
  std::uint64_t high = on_disk < inside ? inside : on_disk;
  add_extent(map, on_disk, inside, 1);
  if (low > first) add_extent(map, first, first, low - first);
  std::uint64_t next = low + 1 > first ? low + 1 : first;
  if (high > next) add_extent(map, next, next, high - next);
}

Outcome write_maps(std::uint64_t child, Owner on_disk, Owner inside) {
  SmallText path;
  SmallText map;
  path.text("/proc/").number(child).text("/gid_map");
  write_map(map, 0, on_disk.gid, inside.gid);
  if (Outcome outcome = write_file(path.c_str(), map.c_str()); outcome.error != 0) return outcome;
  path.clear();
  map.clear();
  path.text("/proc/").number(child).text("/uid_map");
  write_map(map, 1, on_disk.uid, inside.uid);
  return write_file(path.c_str(), map.c_str());
}

long open_namespace(std::uint64_t child) {
  SmallText path;
  path.text("/proc/").number(child).text("/ns/user");
  return sys::call(__NR_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
}

// Only there so that /proc names its user namespace: until the other end of the pipe closes.
[[noreturn]] void hold_namespace(const int (&pipe)[2]) {
  sys::close(pipe[1]);
  char byte = 0;
  while (sys::call(__NR_read, pipe[0], &byte, 1) == -EINTR) {
  }
  sys::exit(0);
}

}  // namespace

long owner_of(int descriptor, Owner& owner) {
  struct statx found {};
  long rc = sys::call(__NR_statx, descriptor, "", AT_EMPTY_PATH, STATX_UID | STATX_GID, &found);
  if (rc >= 0) owner = {found.stx_uid, found.stx_gid};
  return rc;
}

long mapping_namespace(Owner on_disk, Owner inside) {
  int pipe[2] = {-1, -1};
  if (long rc = sys::call(__NR_pipe2, pipe, O_CLOEXEC); rc < 0) return rc;
  long child = sys::call(__NR_clone, CLONE_NEWUSER, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) hold_namespace(pipe);
  sys::close(pipe[0]);
  long result = child;
  if (child > 0) {
    auto id = static_cast<std::uint64_t>(child);
    Outcome outcome = write_maps(id, on_disk, inside);
    result = outcome.error != 0 ? -outcome.error : open_namespace(id);
  }
  sys::close(pipe[1]);
  while (child > 0 && sys::call(__NR_wait4, child, nullptr, kAnyChild, nullptr) == -EINTR) {
  }
  return result;
}

long map_mount(int tree, int mapping, bool recursive) {
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_IDMAP;
  change.userns_fd = static_cast<std::uint64_t>(mapping);
  unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);
  return sys::call(__NR_mount_setattr, tree, "", flags, &change, sizeof change);
}

}  // namespace oncelatch::sandbox
