// Attempts that must fail, made in the process that is about to become the program. One success refuses the launch:
// what the report says is proved here, not assumed from the set-up.
#include <asm/ioctls.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/in.h>
#include <linux/mount.h>
#include <linux/net.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/un.h>

#include "sandbox/enforce.h"
#include "sandbox/landlock_abi.h"
#include "sandbox/layer_probes.h"
#include "sandbox/small_text.h"
#include "sandbox/test_hook.h"

namespace oncelatch::sandbox {

namespace {

constexpr int kUnix = 1;
constexpr int kInternet = 2;
constexpr int kStream = 1;
constexpr int kDatagram = 2;
constexpr int kLowestTellingPid = 8;  // a lower number may exist inside as well

SmallText planted(const Context& context, const char* name) {
  SmallText path;
  path.text(context.plan->planted_directory.data).text(name);
  return path;
}

long create(const char* path) {
  return sys::call(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

long write_outside(const Context& context) {
  return create(planted(context, "/written").c_str());
}
long write_root(const Context&) {
  return create("/.oncelatch-written");
}
long write_system(const Context&) {
  return create("/usr/.oncelatch-written");
}

// A name of its own that no file has; the directory is the first that is guarded.
long create_in_guarded(const Context& context, const char* name) {
  const WirePlan& plan = *context.plan;
  for (std::uint32_t i = 0; i < plan.entry_count; ++i) {
    const Entry& entry = plan.entries[i];
    if ((entry.flags & kGuarded) == 0 || (entry.flags & kIsDirectory) == 0) continue;
    SmallText path;
    path.text(entry.target.data).text(name);
    if (path.overflowed()) return -ENAMETOOLONG;
    const long made = create(path.c_str());
    if (made >= 0) (void)sys::call(__NR_unlinkat, AT_FDCWD, path.c_str(), 0);
    return made;
  }
  return -ENOENT;
}
long make_without_broker(const Context& context) {
  return create_in_guarded(context, "/oncelatch-self-test");
}
long make_guarded_name(const Context& context) {
  return create_in_guarded(context, "/.oncelatch-self-test");
}

long read_secret(const Context& context) {
  return sys::call(__NR_openat, AT_FDCWD, planted(context, "/secret").c_str(), O_RDONLY | O_CLOEXEC);
}

long unshare_user(const Context&) {
  return sys::call(__NR_unshare, CLONE_NEWUSER | CLONE_NEWNS);
}
long mount_something(const Context&) {
  return sys::call(__NR_mount, "tmpfs", "/tmp", "tmpfs", 0, nullptr);
}

long connect_path(const Context& context) {
  sockaddr_un address{};
  address.sun_family = 1;
  SmallText path = planted(context, "/socket");
  for (unsigned i = 0; path.c_str()[i] != 0 && i + 1 < sizeof address.sun_path; ++i)
    address.sun_path[i] = path.c_str()[i];
  long socket = sys::call(__NR_socket, kUnix, kStream | O_CLOEXEC, 0);
  if (socket < 0) return socket;
  long rc = sys::call(__NR_connect, socket, &address, sizeof address);
  sys::close(static_cast<int>(socket));
  return rc;
}

// The planted TCP listener's port stands at the end of the abstract name: "…-PORT".
unsigned planted_port(const WirePlan& plan) {
  const Text& name = plan.planted_abstract;
  unsigned port = 0;
  unsigned scale = 1;
  for (std::uint32_t i = name.size; i > 0 && name.data[i - 1] != '-'; --i, scale *= 10) {
    unsigned digit = static_cast<unsigned>(name.data[i - 1] - '0');
    if (digit > 9 || scale > 10000) return 0;
    port += digit * scale;
  }
  return port <= 0xffff ? port : 0;
}

bool has_closed_port(const WirePlan& plan) {
  unsigned port = planted_port(plan);
  for (std::uint32_t i = 0; has(plan, kPlanHostNetwork) && i < plan.port_count; ++i)
    if (plan.ports[i] == port) return false;
  return port != 0;
}

long connect_tcp(const Context& context) {
  unsigned port = planted_port(*context.plan);
  sockaddr_in address{};
  address.sin_family = kInternet;
  address.sin_port = static_cast<std::uint16_t>((port >> 8) | ((port & 0xff) << 8));
  address.sin_addr.s_addr = 0x0100007f;  // 127.0.0.1
  long socket = sys::call(__NR_socket, kInternet, kStream | O_CLOEXEC, 0);
  if (socket < 0) return socket;
  long rc = sys::call(__NR_connect, socket, &address, sizeof address);
  sys::close(static_cast<int>(socket));
  return rc;
}

long open_datagram_socket(const Context&) {
  return sys::call(__NR_socket, kInternet, kDatagram | O_CLOEXEC, 0);
}

// A directory by preference: with it the attempt can be made without moving anything.
const Entry* pinned_entry(const WirePlan& plan) {
  const Entry* file = nullptr;
  for (std::uint32_t i = 0; i < plan.entry_count; ++i) {
    const Entry& entry = plan.entries[i];
    if (entry.kind != EntryKind::pin && entry.kind != EntryKind::protect) continue;
    if ((entry.flags & kIsDirectory) != 0) return &entry;
    file = &entry;
  }
  return file;
}

// Moves it away and back at once.
long rename_and_back(const char* name) {
  SmallText other;
  other.text(name).text("~oncelatch");
  if (other.overflowed()) return -ENAMETOOLONG;
  long rc = sys::call(__NR_renameat2, AT_FDCWD, name, AT_FDCWD, other.c_str(), RENAME_NOREPLACE);
  if (rc >= 0) (void)sys::call(__NR_renameat2, AT_FDCWD, other.c_str(), AT_FDCWD, name, RENAME_NOREPLACE);
  return rc;
}

// What a mount point answers to a rename it answers to its removal, too: EBUSY, before anything is looked at. So a
// directory that holds something isn't moved even where the pin is missing; and what is no directory any more was
// not pinned, and is left as it is.
long rename_pinned(const Context& context) {
  const Entry* pinned = pinned_entry(*context.plan);
  if (pinned == nullptr) return -ENOENT;
  const char* name = pinned->target.data;
  if ((pinned->flags & kIsDirectory) == 0) return rename_and_back(name);
  long fd = sys::call(__NR_openat, AT_FDCWD, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd == -ENOTDIR || fd == -ELOOP || fd == -ENOENT) return 0;
  if (fd < 0) return fd;
  alignas(8) char entries[512];
  long size = sys::call(__NR_getdents64, fd, entries, sizeof entries);
  sys::close(static_cast<int>(fd));
  if (size < 0) return size;
  constexpr long kDots = 48;  // "." and ".." alone
  if (size <= kDots) return rename_and_back(name);
  long rc = sys::call(__NR_unlinkat, AT_FDCWD, name, AT_REMOVEDIR);
  return rc == -ENOTEMPTY || rc == -ENOTDIR || rc == -ENOENT ? 0 : rc;
}

long type_into_terminal(const Context&) {
  return sys::call(__NR_ioctl, 0, TIOCSTI, "x");
}
long type_with_high_bit(const Context&) {
  return sys::call(__NR_ioctl, 0, (1UL << 32) | TIOCSTI, "x");
}

long signal_outside(const Context& context) {
  if (context.outer_pid < kLowestTellingPid) return -ESRCH;
  return sys::call(__NR_kill, context.outer_pid, 0);
}

long open_init_memory(const Context&) {
  SmallText path;
  path.text("/proc/").number(static_cast<std::uint64_t>(sys::call(__NR_getppid))).text("/mem");
  return sys::call(__NR_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
}

// Where it is allowed for its own children, the first process must still be out of reach.
long trace(const Context& context) {
  if (has(*context.plan, kPlanAllowPtrace))
    return sys::call(__NR_ptrace, PTRACE_SEIZE, sys::call(__NR_getppid), nullptr, nullptr);
  return sys::call(__NR_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr);
}

long set_up_ring(const Context&) {
  unsigned char parameters[120] = {};  // struct io_uring_params
  return sys::call(__NR_io_uring_setup, 4, parameters);
}

bool without_host_network(const WirePlan& plan) {
  return !has(plan, kPlanHostNetwork);
}
bool has_pin(const WirePlan& plan) {
  return pinned_entry(plan) != nullptr;
}
bool has_scopes(const WirePlan& plan) {
  return landlock::known_scopes(plan.landlock_abi) != 0;
}

bool has_guard(const WirePlan& plan) {
  return has(plan, kPlanGuard);
}
bool without_guard(const WirePlan& plan) {
  return !has(plan, kPlanGuard);
}

struct Probe {
  const char* name;
  long (*attempt)(const Context&);
  bool (*applies)(const WirePlan&) = nullptr;  // none: always
};

// Every layer by its name, so that a missing one is what the refusal says; then what must not succeed.
constexpr Probe kProbes[] = {
    {"mount-namespace", probe_mount_namespace},
    {"pid-namespace", probe_pid_namespace},
    {"network-namespace", probe_network_namespace, without_host_network},
    {"userns-limit", probe_user_namespace_limit},
    {"capabilities", probe_capabilities},
    {"no-new-privileges", probe_no_new_privileges},
    {"landlock", probe_landlock, without_guard},
    {"landlock-scope", probe_landlock_scope},
    {"seccomp", probe_seccomp},
    {"init-not-dumpable", probe_first_process_hidden},
    {"write-outside", write_outside},
    {"write-root", write_root, without_guard},
    {"write-system", write_system, without_guard},
    {"guarded-name", make_guarded_name, has_guard},
    {"read-secret", read_secret},
    {"pinned-rename", rename_pinned, has_pin},
    {"unshare", unshare_user},
    {"mount", mount_something},
    {"unix-socket", connect_path},
    {"abstract-socket", connect_planted_abstract},
    {"tcp-socket", connect_tcp, has_closed_port},
    {"tiocsti", type_into_terminal},
    {"tiocsti-high-bit", type_with_high_bit},
    {"signal-outside", signal_outside},
    {"init-memory", open_init_memory},
    {"ptrace", trace},
    {"io-uring", set_up_ring},
};

// Before the filter, which would have the broker asked: what the kernel refuses where the broker leaves it the call.
constexpr Probe kProbesOfKernel[] = {
    {"landlock", probe_landlock},
    {"write-root", write_root},
    {"write-system", write_system},
    {"write-workspace", make_without_broker},
};

// The Landlock tier: what it claims, no more (sandbox/guarantees.cc).
constexpr Probe kProbesOnHost[] = {
    {"capabilities", probe_held_capabilities},
    {"no-new-privileges", probe_no_new_privileges},
    {"landlock", probe_landlock_on_host},
    {"landlock-scope", probe_landlock_scope_on_host, has_scopes},
    {"seccomp", probe_seccomp},
    {"init-not-dumpable", probe_first_process_hidden},
    {"write-outside", write_outside},
    {"write-root", write_root},
    {"write-system", write_system},
    {"read-secret", read_secret},
    {"unshare", unshare_user},
    {"mount", mount_something},
    {"unix-socket", connect_path},
    {"abstract-socket", connect_planted_abstract},
    {"tcp-socket", connect_tcp, has_closed_port},
    {"udp-socket", open_datagram_socket, without_host_network},
    {"tiocsti", type_into_terminal},
    {"tiocsti-high-bit", type_with_high_bit},
    {"signal-outside", signal_outside, has_scopes},
    {"init-memory", open_init_memory},
    {"ptrace", trace},
    {"io-uring", set_up_ring},
};

template <unsigned Count>
constexpr unsigned count_of(const Probe (&)[Count]) {
  return Count;
}
constexpr unsigned kMostRecords = 32;
static_assert(count_of(kProbes) + count_of(kProbesOfKernel) < kMostRecords && count_of(kProbesOnHost) < kMostRecords);
static_assert(kMostRecords * sizeof(StatusRecord) <= 4096, "one write of a pipe");

StatusRecord records[kMostRecords];
unsigned made = 0;
const char* succeeded = nullptr;  // name of the first attempt that did

template <unsigned Count>
void attempt_all(const Probe (&probes)[Count], const Context& context) {
  for (const Probe& probe : probes) {
    if (probe.applies != nullptr && !probe.applies(*context.plan)) continue;
    long rc = probe.attempt(context);
    StatusRecord& record = records[made++];
    record.kind = StatusRecord::probe;
    record.stage = Stage::self_test;
    record.refused = rc < 0 ? 1 : 0;
    record.error = rc < 0 ? static_cast<std::int32_t>(-rc) : 0;
    set_text(record, probe.name);
    if (rc >= 0 && succeeded == nullptr) succeeded = probe.name;
  }
}

// Attempts on what isn't there yet would prove nothing.
Outcome wait_for_targets() {
  char word = 0;
  long got = sys::call(__NR_read, kPlanDescriptor, &word, 1);
  while (got == -EINTR) got = sys::call(__NR_read, kPlanDescriptor, &word, 1);
  if (got != 1 || word != kPlantedWord) return failed(got < 0 ? got : -EPIPE, "targets");
  return {};
}

}  // namespace

Outcome test_kernel_alone(Context& context) {
  attempt_all(kProbesOfKernel, context);
  return {};
}

Outcome test_self(Context& context) {
  if (Outcome outcome = wait_for_targets(); outcome.error != 0) return outcome;
  has(*context.plan, kPlanLandlockTier) ? attempt_all(kProbesOnHost, context) : attempt_all(kProbes, context);
  if (goes_on_by_test(context)) succeeded = nullptr;
  // One write: the last record says that only exec is left, or which attempt succeeded.
  StatusRecord& last = records[made++];
  last.kind = succeeded == nullptr ? StatusRecord::ready : StatusRecord::failed;
  last.stage = Stage::self_test;
  if (succeeded != nullptr) set_text(last, succeeded);
  // Whoever can't tell that it is ready doesn't start either: the launcher would take it for killed.
  const long size = static_cast<long>(made * sizeof(StatusRecord));
  const bool told = sys::call(__NR_write, kStatusDescriptor, records, size) == size;
  if (succeeded != nullptr || !told) sys::exit(kExitFault);
  return {};
}

}  // namespace oncelatch::sandbox
