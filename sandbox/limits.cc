// Limits: sysctls of the new namespaces, setrlimit(2), oom_score_adj.
#include <linux/fcntl.h>
#include <linux/resource.h>

#include "sandbox/enforce.h"
#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::uint64_t kLeastPidMax = 301;  // kernel: RESERVED_PIDS + 1
constexpr std::uint64_t kLockedMemory = std::uint64_t{8} << 20;

struct Limit64 {
  std::uint64_t soft;
  std::uint64_t hard;
};

constexpr std::uint64_t kPendingSignals = 4096;  // and timers: the kernel counts them for the user, outside as well
constexpr std::uint64_t kQueueBytes = 400U << 10;

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
  return a < b ? a : b;
}

// Never raises what the launcher has, neither the soft nor the hard one.
long limit(int resource, std::uint64_t most) {
  Limit64 now{};
  if (long rc = sys::call(__NR_prlimit64, 0, resource, nullptr, &now); rc < 0) return rc;
  const Limit64 wanted{smaller(now.soft, most), smaller(now.hard, most)};
  if (wanted.soft == now.soft && wanted.hard == now.hard) return 0;
  return sys::call(__NR_prlimit64, 0, resource, &wanted, nullptr);
}

long read_number(const char* path, std::uint64_t& number) {
  char text[32];
  long fd = sys::call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  const long size = sys::call(__NR_read, fd, text, sizeof text);
  sys::close(static_cast<int>(fd));
  for (long i = 0; i < size && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + static_cast<std::uint64_t>(text[i] - '0');
  return size;
}

// What the user may have of it altogether; the other half stays for what runs outside. A kernel without it has no file.
Outcome halve(const char* machine, const char* inside) {
  std::uint64_t all = 0;
  const long rc = read_number(machine, all);
  if (rc == -ENOENT) return {};
  if (rc < 0) return failed(rc, machine);
  SmallText half;
  half.number(all / 2 + 1);
  return write_file(inside, half.c_str());
}

}  // namespace

// A wish: where the launcher itself already stands higher the kernel refuses to lower it.
Outcome offer_to_oom_killer(Context&) {
  (void)write_file("/proc/self/oom_score_adj", "1000");
  return {};
}

Outcome limit_namespaces(Context& context) {
  Outcome none = write_file("proc/sys/user/max_user_namespaces", "0");
  if (none.error != 0) return none;
  const bool shares = context.plan->uid == context.plan->shown_uid;  // a kernel user of its own counts for itself
  Outcome watches =
      !shares ? Outcome() : halve("proc/sys/fs/inotify/max_user_watches", "proc/sys/user/max_inotify_watches");
  if (watches.error != 0) return watches;
  Outcome instances =
      !shares ? Outcome() : halve("proc/sys/fs/inotify/max_user_instances", "proc/sys/user/max_inotify_instances");
  if (instances.error != 0) return instances;
  if (context.plan->pid_max == 0) return {};
  SmallText number;
  number.number(context.plan->pid_max < kLeastPidMax ? kLeastPidMax : context.plan->pid_max);
  return write_file("proc/sys/kernel/pid_max", number.c_str());
}

Outcome limit_resources(Context& context) {
  const WirePlan& plan = *context.plan;
  if (long rc = limit(RLIMIT_CORE, 0); rc < 0) return failed(rc, "RLIMIT_CORE");
  if (long rc = limit(RLIMIT_FSIZE, plan.file_size); rc < 0) return failed(rc, "RLIMIT_FSIZE");
  if (long rc = limit(RLIMIT_NOFILE, plan.open_files); rc < 0) return failed(rc, "RLIMIT_NOFILE");
  if (long rc = limit(RLIMIT_MEMLOCK, kLockedMemory); rc < 0) return failed(rc, "RLIMIT_MEMLOCK");
  if (long rc = limit(RLIMIT_SIGPENDING, kPendingSignals); rc < 0) return failed(rc, "RLIMIT_SIGPENDING");
  if (long rc = limit(RLIMIT_MSGQUEUE, kQueueBytes); rc < 0) return failed(rc, "RLIMIT_MSGQUEUE");
  if (long rc = limit(RLIMIT_RTPRIO, 0); rc < 0) return failed(rc, "RLIMIT_RTPRIO");
  if (long rc = limit(RLIMIT_NICE, 0); rc < 0) return failed(rc, "RLIMIT_NICE");
  if (long rc = limit(RLIMIT_NPROC, plan.processes); rc < 0) return failed(rc, "RLIMIT_NPROC");
  return {};
}

}  // namespace oncelatch::sandbox
