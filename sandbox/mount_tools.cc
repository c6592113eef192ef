#include "sandbox/mount_tools.h"

#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>

#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

struct Identity {
  bool known = false;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint64_t inode = 0;
  bool operator==(const Identity& other) const {
    return known && other.known && major == other.major && minor == other.minor && inode == other.inode;
  }
};

Identity identity(int directory, const char* path, int flags) {
  struct statx found {};
  long rc = sys::call(__NR_statx, directory, path, flags | AT_SYMLINK_NOFOLLOW, STATX_INO, &found);
  if (rc < 0) return {};
  return {true, found.stx_dev_major, found.stx_dev_minor, found.stx_ino};
}

}  // namespace

bool same_object(int descriptor, const char* path) {
  return identity(descriptor, "", AT_EMPTY_PATH) == identity(AT_FDCWD, path, 0);
}

bool same_object(int descriptor, int other) {
  return identity(descriptor, "", AT_EMPTY_PATH) == identity(other, "", AT_EMPTY_PATH);
}

long open_without_links(const char* path, std::uint64_t more) {
  return open_without_links(AT_FDCWD, path, more);
}

long open_without_links(int directory, const char* path, std::uint64_t more) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | more;
  return sys::call(__NR_openat2, directory, path, &how, sizeof how);
}

long clone_tree(int directory, const char* path, unsigned flags) {
  return sys::call(__NR_open_tree, directory, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | flags);
}

long clone_by_name(int descriptor) {
  SmallText link;
  link.text("/proc/self/fd/").number(static_cast<std::uint64_t>(descriptor));
  char path[4096];
  long size = sys::call(__NR_readlinkat, AT_FDCWD, link.c_str(), path, sizeof path - 1);
  if (size < 0) return size;
  path[size] = 0;
  long again = open_without_links(path, 0);
  if (again < 0) return again;
  int fd = static_cast<int>(again);
  long tree = same_object(descriptor, fd) ? clone_tree(fd, "", AT_EMPTY_PATH) : -ESTALE;
  return tree;
}

long make_mount_point(const char* path) {
  constexpr unsigned kRegularFile = 0100644;
  return sys::call(__NR_mknodat, AT_FDCWD, path, kRegularFile, 0);
}

long set_attributes(int mount, std::uint64_t attributes, bool recursive) {
  mount_attr change{};
  change.attr_set = attributes;
  unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);
  return sys::call(__NR_mount_setattr, mount, "", flags, &change, sizeof change);
}

long set_attributes(const char* path, std::uint64_t attributes) {
  mount_attr change{};
  change.attr_set = attributes;
  return sys::call(__NR_mount_setattr, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &change, sizeof change);
}

long bind_path(const char* from, const char* onto) {
  return sys::call(__NR_mount, from, onto, nullptr, MS_BIND | MS_REC, nullptr);
}

long bind_read_only_itself(const char* path) {
  if (long rc = bind_path(path, path); rc < 0) return rc;
  constexpr unsigned long kFlags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return sys::call(__NR_mount, nullptr, path, nullptr, kFlags, nullptr);
}

long attach(int mount, int directory, const char* path) {
  unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (path[0] == 0 ? MOVE_MOUNT_T_EMPTY_PATH : 0);
  return sys::call(__NR_move_mount, mount, "", directory, path, flags);
}

long new_tmpfs(const char* size, const char* mode) {
  long context = sys::call(__NR_fsopen, "tmpfs", FSOPEN_CLOEXEC);
  if (context < 0) return context;
  long rc = sys::call(__NR_fsconfig, context, FSCONFIG_SET_STRING, "size", size, 0);
  if (rc >= 0) rc = sys::call(__NR_fsconfig, context, FSCONFIG_SET_STRING, "mode", mode, 0);
  if (rc >= 0) rc = sys::call(__NR_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0);
  if (rc >= 0) rc = sys::call(__NR_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
  sys::close(static_cast<int>(context));
  return rc;
}

Outcome mount_tmpfs(const char* path, std::uint64_t size, std::uint32_t mode) {
  SmallText options;
  options.text("size=").number(size).text(",mode=");
  for (int shift = 9; shift >= 0; shift -= 3) options.number((mode >> shift) & 7);
  // Empty files take no size, but memory: a file for each page, and room for a few where the size is small.
  options.text(",nr_inodes=").number(size / 4096 > 1024 ? size / 4096 : 1024);
  long rc = sys::call(__NR_mount, "tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options.c_str());
  if (rc < 0) return failed(rc, path);
  return {};
}

Outcome attach_temporary(int store, const char* path, std::uint32_t mode) {
  static unsigned made = 0;
  SmallText name;
  name.number(made++);
  if (long rc = sys::call(__NR_mkdirat, store, name.c_str(), mode); rc < 0) return failed(rc, path);
  const long tree = clone_tree(store, name.c_str(), 0);
  const long rc = tree < 0 ? tree : attach(static_cast<int>(tree), AT_FDCWD, path);
  if (rc < 0) return failed(rc, path);
  return {};
}

Outcome make_empty_objects() {
  if (long rc = sys::call(__NR_mkdirat, AT_FDCWD, ".empty", 0755); rc < 0) return failed(rc, "/.empty");
  if (long rc = sys::call(__NR_mkdirat, AT_FDCWD, kEmptyDirectory, 0555); rc < 0) return failed(rc, kEmptyDirectory);
  if (long rc = make_mount_point(kEmptyFile); rc < 0) return failed(rc, kEmptyFile);
  if (long rc = bind_read_only_itself(".empty"); rc < 0) return failed(rc, "/.empty");
  return {};
}

}  // namespace oncelatch::sandbox
