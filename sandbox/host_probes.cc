#include "sandbox/host_probes.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/fd.h"
#include "sandbox/landlock_abi.h"

namespace oncelatch::sandbox::probes {

namespace {

constexpr uid_t kNobody = 65534;

// Written by the children into memory shared with the parent.
struct Answer {
  int error;
  const char* step;
};

struct MapLine {
  char text[40] = {};
  std::size_t size = 0;
};

// "ID ID 1", without allocating.
MapLine map_line(std::uint32_t id) {
  char digits[12];
  std::size_t count = 0;
  for (std::uint32_t rest = id; rest != 0 || count == 0; rest /= 10)
    digits[count++] = static_cast<char>('0' + rest % 10);
  MapLine line;
  for (int time = 0; time < 2; ++time) {
    for (std::size_t i = count; i > 0; --i) line.text[line.size++] = digits[i - 1];
    line.text[line.size++] = ' ';
  }
  line.text[line.size++] = '1';
  return line;
}

int write_proc(const char* path, const char* text, std::size_t size) {
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = ::write(fd, text, size) < 0 ? errno : 0;
  ::close(fd);
  return error;
}

Answer map_ids(const MapLine& uid, const MapLine& gid) {
  if (int error = write_proc("/proc/self/setgroups", "deny", 4); error != 0) return {error, "setgroups"};
  if (int error = write_proc("/proc/self/gid_map", gid.text, gid.size); error != 0) return {error, "gid map"};
  if (int error = write_proc("/proc/self/uid_map", uid.text, uid.size); error != 0) return {error, "uid map"};
  return {0, ""};
}

Answer mount_things() {
  constexpr unsigned long kPrivate = MS_REC | MS_PRIVATE;
  if (::syscall(SYS_mount, nullptr, "/", nullptr, kPrivate, nullptr) != 0) return {errno, "private mounts"};
  long tree = ::syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (tree < 0) return {errno, "open_tree"};
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) != 0)
    return {errno, "mount_setattr"};
  if (::syscall(SYS_mount, "tmpfs", "/", "tmpfs", 0UL, nullptr) != 0) return {errno, "mount of tmpfs"};
  if (::syscall(SYS_mount, "proc", "/proc", "proc", 0UL, nullptr) != 0) return {errno, "mount of proc"};
  return {0, ""};
}

constexpr int kDetach = 2;  // MNT_DETACH

// The rest of what a filter around us may refuse one by one.
Answer take_new_root() {
  const long context = ::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
  if (context < 0) return {errno, "fsopen"};
  if (::syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {errno, "fsconfig"};
  const long root = ::syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
  if (root < 0) return {errno, "fsmount"};
  if (::syscall(SYS_move_mount, root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0) return {errno, "move_mount"};
  if (::syscall(SYS_sethostname, "oncelatch", 9) != 0) return {errno, "sethostname"};
  if (::syscall(SYS_fchdir, root) != 0) return {errno, "fchdir"};
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return {errno, "pivot_root"};
  if (::syscall(SYS_umount2, ".", kDetach) != 0) return {errno, "umount2"};
  return {0, ""};
}

// The kernel uid the sandbox would run under: root gives itself up first, as the exec path does.
void become_ordinary() {
  if (::geteuid() == 0) {
    ::syscall(SYS_setgroups, 0, nullptr);
    ::syscall(SYS_setresgid, kNobody, kNobody, kNobody);
    ::syscall(SYS_setresuid, kNobody, kNobody, kNobody);
  }
  ::prctl(PR_SET_DUMPABLE, 1);
}

Answer enter_namespaces(std::uint64_t flags, bool mount) {
  MapLine uid = map_line(::geteuid());
  MapLine gid = map_line(::getegid());
  auto* shared =
      static_cast<Answer*>(::mmap(nullptr, sizeof(Answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return {errno, "mmap"};
  clone_args arguments{};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  long child = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child < 0) return {errno, "clone3"};
  if (child == 0) {
    *shared = map_ids(uid, gid);
    if (shared->error == 0 && mount) *shared = mount_things();
    if (shared->error == 0 && mount) *shared = take_new_root();
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(static_cast<pid_t>(child), &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? *shared : Answer{EFAULT, "child"};
}

template <class Attempt>
Answer in_child(Attempt attempt) {
  auto* shared =
      static_cast<Answer*>(::mmap(nullptr, sizeof(Answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return {errno, "mmap"};
  pid_t child = ::fork();
  if (child == 0) {
    *shared = attempt();
    ::_exit(0);
  }
  Answer answer{errno, "fork"};
  int status = 0;
  if (child > 0) {
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    answer = status == 0 ? *shared : Answer{EFAULT, "child"};
  }
  ::munmap(shared, sizeof(Answer));
  return answer;
}

constexpr std::uint64_t kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

Answer load_trivial_filter() {
  sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  sock_fprog program{1, &allow};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {errno, "no_new_privs"};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return {errno, "seccomp"};
  return {0, ""};
}

Answer load_listener() {
  constexpr unsigned long kWaitKillable = 1UL << 5;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 5.19
  constexpr std::uint64_t kSyncWakeUp = 1;           // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, 6.6
  constexpr unsigned long kSetFlags = _IOW('!', 4, std::uint64_t);
  sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  sock_fprog program{1, &allow};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {errno, "no_new_privs"};
  const long fd =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillable, &program);
  if (fd < 0) return {errno, "listener"};
  if (::ioctl(static_cast<int>(fd), kSetFlags, kSyncWakeUp) != 0) return {errno, "sync wake-up"};
  return {0, ""};
}

int error_of(long rc) {
  return rc < 0 ? errno : 0;
}

}  // namespace

NamespaceFault user_namespace() {
  Answer answer = in_child([] {
    become_ordinary();
    return enter_namespaces(kNamespaces, true);
  });
  return {answer.error, answer.step};
}

NamespaceFault network_namespace() {
  Answer answer = in_child([] {
    become_ordinary();
    return enter_namespaces(kNamespaces | CLONE_NEWNET, false);
  });
  return {answer.error, answer.step};
}

int landlock_abi() {
  long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, landlock::kCreateRulesetVersion);
  return abi < 0 ? -errno : static_cast<int>(abi);
}

int landlock_errata() {
  long mask = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, landlock::kCreateRulesetErrata);
  return mask < 0 ? -errno : static_cast<int>(mask);
}

// How the Landlock tier finds what it must end.
int process_children() {
  Fd list(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
  return list ? 0 : errno;
}

int seccomp_actions() {
  for (std::uint32_t action : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO})
    if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) return errno;
  return 0;
}

int seccomp_filter() {
  return in_child(load_trivial_filter).error;
}

int listener() {
  return in_child(load_listener).error;
}

int listener_action() {
  std::uint32_t action = SECCOMP_RET_USER_NOTIF;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0 ? errno : 0;
}

int no_new_privileges() {
  return error_of(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

int pidfd() {
  long fd = ::syscall(SYS_pidfd_open, ::getpid(), 0);
  int error = error_of(fd);
  Fd closes(static_cast<int>(fd));
  return error;
}

int openat2() {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  long fd = ::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);
  int error = error_of(fd);
  Fd closes(static_cast<int>(fd));
  return error;
}

int memory_seals() {
  Fd memory(::memfd_create("oncelatch-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return errno;
  return error_of(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL));
}

// Only whether the kernel has them; user_namespace() uses them.
int mount_calls() {
  mount_attr change{};
  if (::syscall(SYS_open_tree, -1, "", AT_EMPTY_PATH) != 0 && errno == ENOSYS) return ENOSYS;
  if (::syscall(SYS_mount_setattr, -1, "", AT_EMPTY_PATH, &change, sizeof change) != 0 && errno == ENOSYS)
    return ENOSYS;
  return 0;
}

}  // namespace oncelatch::sandbox::probes
