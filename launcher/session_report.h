// The parts that the record's first row and the report share: who, what, where, under which guarantees.
//
//   log.begin(id, session_start_body(config, artifact, facts, policy_sha256));
//
// Ownership: values. Threads: any. Failure: none. Text from outside is escaped; the writer redacts. After fork:
// allocates.
#pragma once

#include <cstddef>
#include <vector>

#include "base/artifact.h"
#include "base/json.h"
#include "launcher/config.h"
#include "launcher/host_effects.h"
#include "sandbox/enter.h"
#include "sandbox/guarantees.h"

namespace oncelatch::launcher {

[[nodiscard]] Json session_start_body(const LaunchConfig& config, const VerifiedArtifact& artifact,
                                      const sandbox::HostFacts& facts, const std::string& policy_sha256);
[[nodiscard]] Json self_test_body(const std::vector<sandbox::SelfTestResult>& results);
// As exec's report has them (launcher/exec/report.cc), at most so many.
[[nodiscard]] Json host_effects_body(const AfterRunReport& seen, std::size_t most);
// Guarantees as they are for this plan.
[[nodiscard]] Json host_facts_body(const sandbox::HostFacts& facts, const sandbox::SandboxPlan& plan);

}  // namespace oncelatch::launcher
