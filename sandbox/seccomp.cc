// seccomp(2): one filter for every process inside, compiled at build time (sandbox/filter_gen.cc), loaded as it is.
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "sandbox/enforce.h"
#include "sandbox/filter_data.h"

namespace oncelatch::sandbox {

Outcome load_filter(Context& context) {
  const WirePlan& plan = *context.plan;
  const FilterProgram& program = kFilters[filter_variant({.ptrace = has(plan, kPlanAllowPtrace),
                                                          .landlock_tier = has(plan, kPlanLandlockTier),
                                                          .host_network = has(plan, kPlanHostNetwork)})];
  long rc = sys::call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  if (rc < 0) return failed(rc, "filter");
  return {};
}

}  // namespace oncelatch::sandbox
