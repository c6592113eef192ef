// Starts a real sandbox of a plan whose program is the light program itself, and hears what one attempt got.
//
//   LiveProbe probe = TRY(probe_live(plan, "/proc/self/exe", {"path", "/etc/shadow"}));
//   std::optional<int> error = probe.error_of("readable");   // errno, 0: it succeeded
//
// Ownership: values; everything that was started has ended. Threads: one. Failure: Error of the step that failed, or of
// stage "probe" when nothing was heard in time. After fork: no. Part of the light program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/enter.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {

struct Attempt {
  std::string name;
  int error = 0;  // errno, 0: done
};

struct LiveProbe {
  std::vector<Attempt> attempts;
  std::vector<sandbox::SelfTestResult> self_test;
  std::string limits;  // what counts memory and processes, in words
  [[nodiscard]] std::optional<int> error_of(std::string_view name) const;
};

// `program`: the light program. `words`: as launcher/exec/attempt.h has them.
[[nodiscard]] Result<LiveProbe> probe_live(sandbox::SandboxPlan plan, const std::string& program,
                                           const std::vector<std::string>& words, const sandbox::HostFacts& facts);

}  // namespace oncelatch::launcher
