// seccomp(2): one filter for every process inside, compiled at build time (sandbox/filter_gen.cc), loaded as it is.
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "sandbox/enforce.h"
#include "sandbox/filter_data.h"

namespace oncelatch::sandbox {

namespace {

constexpr unsigned long kWaitKillable = 1UL << 5;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 5.19

FilterVariant variant_of(const WirePlan& plan) {
  return {.ptrace = has(plan, kPlanAllowPtrace),
          .landlock_tier = has(plan, kPlanLandlockTier),
          .host_network = has(plan, kPlanHostNetwork)};
}

long load(const FilterProgram& program, unsigned long flags) {
  return sys::call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

}  // namespace

Outcome load_filter(Context& context) {
  if (long rc = load(kFilters[filter_variant(variant_of(*context.plan))], 0); rc < 0) return failed(rc, "filter");
  return {};
}

Outcome load_broker_filter(Context&) {
  if (long rc = load(kBrokerFilter, 0); rc < 0) return failed(rc, "filter");
  return {};
}

// Its descriptor goes to the first process by the table that both still share, and stays there alone.
Outcome load_guarded_filter(Context& context) {
  // Until it execs, this process makes attempts whose arguments the broker reads.
  if (long rc = sys::call(__NR_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); rc < 0) return failed(rc, "PR_SET_DUMPABLE");
  FilterVariant variant = variant_of(*context.plan);
  variant.guard = true;
  const long listener = load(kFilters[filter_variant(variant)], SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillable);
  if (listener < 0) return failed(listener, "filter with a listener");
  if (listener <= kStatusDescriptor) return failed(-ENOSYS, "filter with a listener");  // only said to be there
  long rc = sys::call(__NR_close_range, listener, listener, CLOSE_RANGE_UNSHARE);
  if (rc < 0) return failed(rc, "close_range");
  const std::uint64_t word = static_cast<std::uint64_t>(listener);
  rc = sys::call(__NR_write, context.listener_event, &word, sizeof word);
  if (rc < 0) return failed(rc, "listener");
  return {};
}

}  // namespace oncelatch::sandbox
