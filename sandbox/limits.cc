// Limits: sysctls of the new namespaces, setrlimit(2), oom_score_adj.
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

// Never raises what the launcher has: the kernel refuses that, and the launcher's own limit, which is lower, stays.
long limit(int resource, std::uint64_t most) {
  Limit64 wanted{most, most};
  long rc = sys::call(__NR_prlimit64, 0, resource, &wanted, nullptr);
  if (rc != -EPERM) return rc;
  Limit64 now{};
  rc = sys::call(__NR_prlimit64, 0, resource, nullptr, &now);
  return rc < 0 || now.hard <= most ? rc : -EPERM;
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
  if (long rc = limit(RLIMIT_NPROC, plan.processes); rc < 0) return failed(rc, "RLIMIT_NPROC");
  return {};
}

}  // namespace oncelatch::sandbox
