#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/probes/probe.h"

namespace oncelatch::probe {

namespace {

int open_only(const std::string& path, int flags, mode_t mode = 0) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

int read_one_byte(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  char byte;
  long got = ::read(fd, &byte, 1);
  int error = error_of(got);
  ::close(fd);
  return got == 0 ? ENODATA : error;  // empty: nothing was learned
}

int make(const std::string& path) {
  return open_only(path, O_WRONLY | O_CREAT, 0644);
}
int write_existing(const std::string& path) {
  return open_only(path, O_WRONLY);
}
int truncate_it(const std::string& path) {
  return error_of(::truncate(path.c_str(), 0));
}
int list(const std::string& path) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return errno;
  int entries = 0;
  while (::readdir(directory) != nullptr) ++entries;
  ::closedir(directory);
  return entries > 2 ? 0 : ENODATA;
}
int make_directory(const std::string& path) {
  return error_of(::mkdir(path.c_str(), 0755));
}
int remove(const std::string& path) {
  return error_of(::unlink(path.c_str()));
}

// FROM:TO
template <class Call>
int with_two(const std::string& both, Call call) {
  std::size_t colon = both.find(':');
  return error_of(call(both.substr(0, colon).c_str(), both.substr(colon + 1).c_str()));
}
int rename_it(const std::string& both) {
  return with_two(both, [](auto* a, auto* b) { return ::rename(a, b); });
}
int exchange(const std::string& both) {
  return with_two(both, [](auto* a, auto* b) { return ::renameat2(AT_FDCWD, a, AT_FDCWD, b, 2U /* EXCHANGE */); });
}
int link_it(const std::string& both) {
  return with_two(both, [](auto* a, auto* b) { return ::link(a, b); });
}

int mount_tmpfs(const std::string& path) {
  return error_of(::mount("tmpfs", path.c_str(), "tmpfs", 0, nullptr));
}
int remount_writable(const std::string& path) {
  return error_of(::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND, nullptr));
}
int unmount(const std::string& path) {
  return error_of(::umount2(path.c_str(), MNT_DETACH));
}
int pivot(const std::string&) {
  return error_of(::syscall(SYS_pivot_root, ".", "."));
}
int change_root(const std::string& path) {
  return error_of(::chroot(path.c_str()));
}
int open_tree_it(const std::string& path) {
  return error_of(::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), 1U));
}
int move_mount_it(const std::string&) {
  return error_of(::syscall(SYS_move_mount, -1, "", -1, "", 4U));
}
int fsopen_it(const std::string& type) {
  return error_of(::syscall(SYS_fsopen, type.c_str(), 0U));
}
int mount_setattr_it(const std::string& path) {
  unsigned long attributes[4] = {0, 1, 0, 0};  // clear read-only
  return error_of(::syscall(SYS_mount_setattr, AT_FDCWD, path.c_str(), 0U, attributes, sizeof attributes));
}

int make_block_device(const std::string& path) {
  return error_of(::mknod(path.c_str(), S_IFBLK | 0600, 8 << 8));
}
int make_character_device(const std::string& path) {
  return error_of(::mknod(path.c_str(), S_IFCHR | 0600, (1 << 8) | 1));
}
int set_user_id(const std::string& path) {
  return error_of(::chmod(path.c_str(), 04755));
}
int set_user_id_by_fchmodat2(const std::string& path) {
  return error_of(::syscall(452, AT_FDCWD, path.c_str(), 04755, 0));
}
int make_with_set_group_id(const std::string& path) {
  return open_only(path, O_WRONLY | O_CREAT, 02755);
}
int make_nameless_with_set_user_id(const std::string& path) {
  return open_only(path, O_WRONLY | O_TMPFILE, 04755);
}
int file_capability(const std::string& path) {
  const unsigned everything[5] = {0x02000001, 0xffffffff, 0, 0x1ff, 0};  // version 2, effective
  return error_of(::syscall(SYS_setxattr, path.c_str(), "security.capability", everything, sizeof everything, 0));
}

int handle_of(const std::string& path) {
  unsigned handle[34] = {128};
  int mount = 0;
  return error_of(::syscall(SYS_name_to_handle_at, AT_FDCWD, path.c_str(), handle, &mount, 0));
}
int open_handle(const std::string& path) {
  int mount = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  unsigned handle[4] = {8, 1, 2, 0};  // ext4's root
  return error_of(::syscall(SYS_open_by_handle_at, mount, handle, O_RDONLY));
}
int use_openat2(const std::string& path) {
  unsigned long how[3] = {O_RDONLY, 0, 0};
  return error_of(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), how, sizeof how));
}

// Another terminal than the own one, which may have several names.
int other_terminal(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return errno;
  struct stat own {};
  struct stat opened {};
  bool same = ::fstat(0, &own) == 0 && ::fstat(fd, &opened) == 0 && own.st_rdev == opened.st_rdev;
  ::close(fd);
  return same ? EALREADY : 0;
}

int descriptor(const std::string& number) {
  return error_of(::fcntl(std::atoi(number.c_str()), F_GETFD));
}
// Any descriptor beyond 0, 1, 2 and the probe's own pipe.
int any_descriptor(const std::string&) {
  for (int fd = 6; fd < 4096; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) return 0;
  return EBADF;
}
int reopen_for_writing(const std::string& number) {
  return open_only("/proc/self/fd/" + number, O_RDWR);
}

// FD:NAME, below an inherited directory.
int with_directory(const std::string& text, int flags) {
  std::size_t colon = text.find(':');
  int fd = ::openat(std::atoi(text.c_str()), text.c_str() + colon + 1, flags | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}
int make_below_descriptor(const std::string& text) {
  return with_directory(text, O_WRONLY | O_CREAT);
}
int read_below_descriptor(const std::string& text) {
  return with_directory(text, O_RDONLY);
}
int change_directory_to_descriptor(const std::string& number) {
  return error_of(::fchdir(std::atoi(number.c_str())));
}

}  // namespace

const Named kFileAttempts[] = {
    {"write", make},
    {"append", write_existing},
    {"truncate", truncate_it},
    {"read", read_one_byte},
    {"list", list},
    {"mkdir", make_directory},
    {"unlink", remove},
    {"rename", rename_it},
    {"exchange", exchange},
    {"link", link_it},
    {"mount", mount_tmpfs},
    {"remount", remount_writable},
    {"umount", unmount},
    {"pivot-root", pivot},
    {"chroot", change_root},
    {"open-tree", open_tree_it},
    {"move-mount", move_mount_it},
    {"fsopen", fsopen_it},
    {"mount-setattr", mount_setattr_it},
    {"mknod-block", make_block_device},
    {"mknod-char", make_character_device},
    {"chmod-suid", set_user_id},
    {"fchmodat2-suid", set_user_id_by_fchmodat2},
    {"create-sgid", make_with_set_group_id},
    {"tmpfile-suid", make_nameless_with_set_user_id},
    {"file-capability", file_capability},
    {"name-to-handle", handle_of},
    {"open-by-handle", open_handle},
    {"openat2", use_openat2},
    {"other-terminal", other_terminal},
    {"fd", descriptor},
    {"any-fd", any_descriptor},
    {"reopen", reopen_for_writing},
    {"write-below-fd", make_below_descriptor},
    {"read-below-fd", read_below_descriptor},
    {"fchdir", change_directory_to_descriptor},
    {nullptr, nullptr},
};

}  // namespace oncelatch::probe
