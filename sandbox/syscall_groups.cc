#include "sandbox/syscall_groups.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fscrypt.h>
#include <linux/net.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace oncelatch::sandbox {

namespace {

using Rules = std::vector<SyscallRule>;

constexpr std::uint64_t kLow = 0xffffffff;
constexpr std::uint64_t kOpenCreate = 0100;          // O_CREAT, the same on every architecture here
constexpr std::uint64_t kOpenTemporary = 020000000;  // __O_TMPFILE
constexpr std::uint64_t kSocketType = 0xf;           // without SOCK_CLOEXEC and SOCK_NONBLOCK
constexpr std::uint64_t kPriorityOfUser = 2;         // PRIO_USER
constexpr std::uint64_t kIoPriorityOfUser = 3;       // IOPRIO_WHO_USER

ArgumentTest is(unsigned argument, std::uint64_t value) {
  return {argument, ArgumentTest::Kind::masked, kLow, value};
}
ArgumentTest has_bits(unsigned argument, std::uint64_t bits) {
  return {argument, ArgumentTest::Kind::masked, bits, bits};
}
ArgumentTest within(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, ArgumentTest::Kind::masked, mask, value};
}
ArgumentTest above(unsigned argument, std::uint64_t value) {
  return {argument, ArgumentTest::Kind::above, 0, value};
}
ArgumentTest differs(unsigned argument, std::uint64_t value) {
  return {argument, ArgumentTest::Kind::differs, 0, value};
}

template <class... Constants>
std::vector<std::uint64_t> words(Constants... constants) {
  return {static_cast<std::uint64_t>(constants)...};
}

Rules always(std::initializer_list<std::string_view> names) {
  Rules rules;
  for (std::string_view name : names) rules.push_back({name, {}});
  return rules;
}

Rules namespace_flags() {
  Rules rules;
  for (std::uint64_t flag :
       words(CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP))
    rules.push_back({"clone", {has_bits(0, flag)}});
  return rules;
}

// AF_UNIX 1, AF_INET 2, AF_INET6 10, AF_NETLINK 16 stay.
Rules socket_families() {
  Rules rules;
  for (std::string_view call : {"socket", "socketpair"}) {
    for (std::uint64_t family : words(0, 3, 11)) rules.push_back({call, {is(0, family)}});
    rules.push_back({call, {within(0, 0xfffffffc, 4)}});   // 4 to 7
    rules.push_back({call, {within(0, 0xfffffffe, 8)}});   // 8, 9
    rules.push_back({call, {within(0, 0xfffffffc, 12)}});  // 12 to 15
    rules.push_back({call, {above(0, 16)}});
  }
  rules.push_back({"socketcall", {is(0, SYS_SOCKETPAIR)}});  // its arguments lie in memory
  return rules;
}

// Of the internet families streams and datagrams only: with protocol 0 the type alone chooses SCTP or DCCP, which port
// rules don't know.
Rules socket_types() {
  Rules rules;
  for (std::uint64_t family : words(AF_INET, AF_INET6)) {
    rules.push_back({"socket", {is(0, family), within(1, kSocketType, SOCK_RAW)}});
    for (std::uint64_t bit : words(4, 8)) rules.push_back({"socket", {is(0, family), has_bits(1, bit)}});
  }
  return rules;
}

// Landlock knows paths from ABI 9 on, and ports of datagrams from ABI 10; here both are closed for every ABI. A
// datagram socket of a pair (SOCK_RAW is one of them) can be connected anew, to a name of the host. Landlock refuses to
// bind a port, but not to listen on a socket without one, which takes any that is free.
Rules sockets_without_namespace(bool host_network) {
  Rules rules{{"socket", {is(0, AF_UNIX)}}, {"listen", {}}, {"socketcall", {is(0, SYS_LISTEN)}}};
  rules.push_back({"socketpair", {within(1, kSocketType, SOCK_DGRAM)}});
  rules.push_back({"socketpair", {within(1, kSocketType, SOCK_RAW)}});
  if (host_network) return rules;
  for (std::uint64_t family : words(AF_INET, AF_INET6))
    rules.push_back({"socket", {is(0, family), within(1, kSocketType, SOCK_DGRAM)}});
  return rules;
}

// Landlock doesn't see limits and priorities that are set for another process of the same user.
Rules other_process_settings() {
  Rules rules;
  for (std::string_view call :
       {"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"})
    rules.push_back({call, {differs(0, 0)}});
  for (std::string_view call : {"setpriority", "ioprio_set"}) rules.push_back({call, {differs(1, 0)}});
  rules.push_back({"setpriority", {is(0, kPriorityOfUser)}});
  rules.push_back({"ioprio_set", {is(0, kIoPriorityOfUser)}});
  return rules;
}

// Protocols 0, TCP 6 and UDP 17 of the internet families; of netlink only NETLINK_ROUTE.
Rules socket_protocols() {
  Rules rules;
  for (std::uint64_t family : words(2, 10)) {
    rules.push_back({"socket", {is(0, family), is(2, 1)}});
    rules.push_back({"socket", {is(0, family), within(2, 0xfffffffe, 2)}});
    rules.push_back({"socket", {is(0, family), within(2, 0xfffffffe, 4)}});
    rules.push_back({"socket", {is(0, family), is(2, 7)}});
    rules.push_back({"socket", {is(0, family), within(2, 0xfffffff8, 8)}});
    rules.push_back({"socket", {is(0, family), is(2, 16)}});
    rules.push_back({"socket", {is(0, family), above(2, 17)}});
  }
  rules.push_back({"socket", {is(0, 16), differs(2, 0)}});
  rules.push_back({"socketcall", {is(0, SYS_SOCKET)}});  // its arguments lie in memory
  return rules;
}

// Sending with MSG_FASTOPEN connects, and Landlock's port rules don't see that connect.
Rules fast_open() {
  Rules rules{{"sendto", {has_bits(3, MSG_FASTOPEN)}},
              {"sendmsg", {has_bits(2, MSG_FASTOPEN)}},
              {"sendmmsg", {has_bits(3, MSG_FASTOPEN)}}};
  for (std::uint64_t call : words(SYS_SENDTO, SYS_SENDMSG, SYS_SENDMMSG))
    rules.push_back({"socketcall", {is(0, call)}});
  return rules;
}

Rules set_id_bits() {
  Rules rules;
  for (std::uint64_t bit : words(S_ISUID, S_ISGID)) {
    rules.push_back({"chmod", {has_bits(1, bit)}});
    rules.push_back({"fchmod", {has_bits(1, bit)}});
    rules.push_back({"fchmodat", {has_bits(2, bit)}});
    rules.push_back({"creat", {has_bits(1, bit)}});
    rules.push_back({"mknod", {has_bits(1, bit)}});
    rules.push_back({"mknodat", {has_bits(2, bit)}});
    for (std::uint64_t flag : words(kOpenCreate, kOpenTemporary)) {
      rules.push_back({"open", {has_bits(1, flag), has_bits(2, bit)}});
      rules.push_back({"openat", {has_bits(2, flag), has_bits(3, bit)}});
    }
  }
  return rules;
}

Rules devices() {
  Rules rules;
  for (std::uint64_t type : words(S_IFBLK, S_IFCHR)) {
    rules.push_back({"mknod", {within(1, S_IFMT, type)}});
    rules.push_back({"mknodat", {within(2, S_IFMT, type)}});
  }
  return rules;
}

Rules terminal_input() {
  Rules rules;
  for (std::uint64_t request : words(TIOCSTI, 0x541C /* TIOCLINUX */, TIOCSETD, TIOCCONS))
    rules.push_back({"ioctl", {is(1, request)}});
  return rules;
}

// The first process inside counts memory and watches for the end as the same user: without descriptors it would see
// nothing, idle it would see it late.
Rules first_process_settings() {
  Rules rules;
  for (std::string_view call :
       {"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"})
    rules.push_back({call, {is(0, 1)}});
  for (std::string_view call : {"setpriority", "ioprio_set"}) rules.push_back({call, {is(1, 1)}});
  rules.push_back({"setpriority", {is(0, kPriorityOfUser)}});
  rules.push_back({"ioprio_set", {is(0, kIoPriorityOfUser)}});
  return rules;
}

// A snapshot holds what a cover hides, a subvolume is made and removed past Landlock, and a key of the file system that
// is taken away locks the user's other files.
Rules filesystem_control() {
  Rules rules;
  for (std::uint64_t request :
       words(BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_CREATE_V2, BTRFS_IOC_SUBVOL_CREATE, BTRFS_IOC_SUBVOL_CREATE_V2,
             BTRFS_IOC_SNAP_DESTROY, BTRFS_IOC_SNAP_DESTROY_V2, BTRFS_IOC_SUBVOL_SETFLAGS, FS_IOC_ADD_ENCRYPTION_KEY,
             FS_IOC_REMOVE_ENCRYPTION_KEY, FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS))
    rules.push_back({"ioctl", {is(1, request)}});
  rules.push_back({"ioctl", {within(1, 0xff00, 0xbc00)}});  // bcachefs
  return rules;
}

// Added where no namespace hides the host.
std::vector<SyscallGroup> groups_without_namespaces(const FilterVariant& variant) {
  return {
      {"sockets-on-host",
       "no unix socket but a pair of streams of its own; no listening; datagrams only with the host's network", EPERM,
       sockets_without_namespace(variant.host_network)},
      {"shared-memory", "shared memory, semaphores and queues of the user's other processes", ENOSYS,
       always({"shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "semtimedop_time64",
               "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "ipc"})},
      {"other-settings", "limits and priorities of the user's other processes", EPERM, other_process_settings()},
      {"attributes", "extended attributes, which Landlock doesn't see", EOPNOTSUPP,
       always({"setxattr", "lsetxattr", "fsetxattr", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr",
               "flistxattr", "removexattr", "lremovexattr", "fremovexattr"})},
  };
}

Rules other_processes(const FilterVariant& variant) {
  Rules rules = always({"process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "move_pages", "migrate_pages",
                        "process_mrelease"});
  if (!variant.ptrace) rules.push_back({"ptrace", {}});
  return rules;
}

// What makes a name, or opens for writing. What a filter sees of an open are its flags.
Rules making() {
  Rules rules = always({"creat", "truncate", "truncate64", "mkdir", "mkdirat", "mknod", "mknodat", "symlink",
                        "symlinkat", "link", "linkat", "rename", "renameat", "renameat2", "bind", "umask"});
  for (std::uint64_t flag : words(O_WRONLY, O_RDWR, O_CREAT, O_TRUNC)) {
    rules.push_back({"open", {has_bits(1, flag)}});
    rules.push_back({"openat", {has_bits(2, flag)}});
  }
  return rules;
}

std::vector<SyscallGroup> common_groups(const FilterVariant& variant) {
  return {
      {"mount", "the view of the filesystem stays as it was built", EPERM,
       always({"mount", "umount", "umount2", "pivot_root", "chroot"})},
      {"mount-new", "the newer mount calls; programs fall back", ENOSYS,
       always({"open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"})},
      {"namespaces", "no further namespace is made or entered", EPERM, always({"unshare", "setns"})},
      {"namespace-flags", "clone with namespace flags", EPERM, namespace_flags()},
      {"opaque", "calls whose flags lie in memory, where a filter can't see them; libraries fall back", ENOSYS,
       always({"clone3", "openat2"})},
      {"io-uring", "a second way to make system calls, past any filter", ENOSYS,
       always({"io_uring_setup", "io_uring_enter", "io_uring_register"})},
      {"other-processes", "memory, descriptors and registers of other processes", EPERM, other_processes(variant)},
      {"process-madvise", "advice about the memory of other processes", ENOSYS, always({"process_madvise"})},
      {"secret-memory", "pages that only their owner has: nobody could count or reclaim them", ENOSYS,
       always({"memfd_secret"})},
      {"keys", "key rings are shared with the user's session", EPERM, always({"add_key", "request_key", "keyctl"})},
      {"kernel-programs", "code and counters inside the kernel", EPERM,
       always({"bpf", "perf_event_open", "userfaultfd"})},
      {"kernel-control", "modules, reboot, swap, quota, accounting, log", EPERM,
       always({"kexec_load",    "kexec_file_load", "init_module",     "finit_module", "delete_module",
               "create_module", "query_module",    "get_kernel_syms", "reboot",       "swapon",
               "swapoff",       "quotactl",        "quotactl_fd",     "acct",         "syslog",
               "vhangup",       "nfsservctl",      "bdflush",         "_sysctl",      "sysfs",
               "uselib",        "lookup_dcookie"})},
      {"clock", "the machine's time", EPERM,
       always({"settimeofday", "stime", "adjtimex", "clock_settime", "clock_settime64", "clock_adjtime",
               "clock_adjtime64"})},
      {"hardware", "ports and processor modes", EPERM,
       always({"iopl", "ioperm", "modify_ldt", "vm86", "vm86old", "pciconfig_read", "pciconfig_write",
               "pciconfig_iobase"})},
      {"names", "identity of the host", EPERM, always({"sethostname", "setdomainname"})},
      {"handles", "files by handle, past every path rule", EPERM,
       always({"open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark"})},
      {"terminal-input", "typing into a terminal, consoles, line disciplines", EPERM, terminal_input()},
      {"filesystem-control", "snapshots, subvolumes and keys of the file system; programs fall back", ENOTTY,
       filesystem_control()},
      {"memory-map", "rewriting what /proc says of a process", EPERM, {{"prctl", {is(0, PR_SET_MM)}}}},
      {"socket-families", "only unix, internet and route sockets", EPERM, socket_families()},
      {"socket-types", "of the internet only streams and datagrams", EPERM, socket_types()},
      {"socket-protocols", "no MPTCP, raw or other protocols that port rules don't know", EPERM, socket_protocols()},
      {"fast-open", "no connection made by sending, past the port rules", EPERM, fast_open()},
      {"set-id", "files that would run as somebody else later", EPERM, set_id_bits()},
      {"devices", "device nodes", EPERM, devices()},
  };
}

}  // namespace

std::vector<SyscallGroup> syscall_groups(const FilterVariant& variant) {
  std::vector<SyscallGroup> groups = common_groups(variant);
  if (!variant.landlock_tier) {
    groups.push_back({"first-process", "limits and priorities of the process that keeps the limits", EPERM,
                      first_process_settings()});
    if (!variant.guard) return groups;
    // Old 32-bit libraries; they get no socket either (socket-protocols).
    groups.push_back({"bind-in-memory",
                      "an address to bind that a filter can't tell from other calls",
                      EPERM,
                      {{"socketcall", {is(0, SYS_BIND)}}}});
    groups.push_back({"making",
                      "what makes, moves or opens for writing is done on behalf, names that the host would "
                      "run or follow later excepted",
                      kToBroker, making()});
    return groups;
  }
  for (SyscallGroup& group : groups_without_namespaces(variant)) groups.push_back(std::move(group));
  return groups;
}

}  // namespace oncelatch::sandbox
