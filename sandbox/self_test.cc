// Attempts that must fail, made in the process that is about to become the program. One success refuses the launch:
// what the report says is proved here, not assumed from the set-up.
#include <asm/ioctls.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/net.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/un.h>

#include "sandbox/enforce.h"
#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

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

long read_secret(const Context& context) {
  return sys::call(__NR_openat, AT_FDCWD, planted(context, "/secret").c_str(), O_RDONLY | O_CLOEXEC);
}

long unshare_user(const Context&) {
  return sys::call(__NR_unshare, CLONE_NEWUSER | CLONE_NEWNS);
}
long mount_something(const Context&) {
  return sys::call(__NR_mount, "tmpfs", "/tmp", "tmpfs", 0, nullptr);
}

long connect_to(const sockaddr_un& address, unsigned size) {
  constexpr int kUnix = 1;
  constexpr int kStream = 1;
  long socket = sys::call(__NR_socket, kUnix, kStream | O_CLOEXEC, 0);
  if (socket < 0) return socket;
  long rc = sys::call(__NR_connect, socket, &address, size);
  sys::close(static_cast<int>(socket));
  return rc;
}

long connect_path(const Context& context) {
  sockaddr_un address{};
  address.sun_family = 1;
  SmallText path = planted(context, "/socket");
  for (unsigned i = 0; path.c_str()[i] != 0 && i + 1 < sizeof address.sun_path; ++i)
    address.sun_path[i] = path.c_str()[i];
  return connect_to(address, sizeof address);
}

long connect_abstract(const Context& context) {
  sockaddr_un address{};
  address.sun_family = 1;
  const Text& name = context.plan->planted_abstract;
  for (unsigned i = 0; i < name.size; ++i) address.sun_path[i + 1] = name.data[i];
  return connect_to(address, static_cast<unsigned>(sizeof address.sun_family + 1 + name.size));
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
  return sys::call(__NR_openat, AT_FDCWD, "/proc/1/mem", O_RDONLY | O_CLOEXEC);
}

// Where it is allowed for its own children, the first process must still be out of reach.
long trace(const Context& context) {
  if (has(*context.plan, kPlanAllowPtrace)) return sys::call(__NR_ptrace, PTRACE_SEIZE, 1, nullptr, nullptr);
  return sys::call(__NR_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr);
}

long set_up_ring(const Context&) {
  unsigned char parameters[120] = {};  // struct io_uring_params
  return sys::call(__NR_io_uring_setup, 4, parameters);
}

// Without Landlock the kernel would answer ENOTTY: this one fails by that layer alone.
long use_device(const Context&) {
  long device = sys::call(__NR_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
  if (device < 0) return 0;
  unsigned char settings[64];
  long rc = sys::call(__NR_ioctl, device, TCGETS, settings);
  sys::close(static_cast<int>(device));
  return rc == -EACCES ? rc : 0;
}

struct Probe {
  const char* name;
  long (*attempt)(const Context&);
};

constexpr Probe kProbes[] = {
    {"write-outside", write_outside},
    {"write-root", write_root},
    {"write-system", write_system},
    {"read-secret", read_secret},
    {"unshare", unshare_user},
    {"mount", mount_something},
    {"unix-socket", connect_path},
    {"abstract-socket", connect_abstract},
    {"tiocsti", type_into_terminal},
    {"tiocsti-high-bit", type_with_high_bit},
    {"signal-outside", signal_outside},
    {"init-memory", open_init_memory},
    {"ptrace", trace},
    {"io-uring", set_up_ring},
    {"landlock", use_device},
};
constexpr unsigned kProbeCount = sizeof kProbes / sizeof kProbes[0];
static_assert((kProbeCount + 1) * sizeof(StatusRecord) <= 4096, "one write of a pipe");

}  // namespace

Outcome test_self(Context& context) {
  StatusRecord records[kProbeCount + 1];
  const char* succeeded = nullptr;
  for (unsigned i = 0; i < kProbeCount; ++i) {
    long rc = kProbes[i].attempt(context);
    records[i].kind = StatusRecord::probe;
    records[i].stage = Stage::self_test;
    records[i].refused = rc < 0 ? 1 : 0;
    records[i].error = rc < 0 ? static_cast<std::int32_t>(-rc) : 0;
    set_text(records[i], kProbes[i].name);
    if (rc >= 0 && succeeded == nullptr) succeeded = kProbes[i].name;
  }
  // One write: the last record says that only exec is left, or which attempt succeeded.
  StatusRecord& last = records[kProbeCount];
  last.kind = succeeded == nullptr ? StatusRecord::ready : StatusRecord::failed;
  last.stage = Stage::self_test;
  if (succeeded != nullptr) set_text(last, succeeded);
  (void)sys::call(__NR_write, kStatusDescriptor, records, sizeof records);
  if (succeeded != nullptr) sys::exit(kExitFault);
  return {};
}

}  // namespace oncelatch::sandbox
