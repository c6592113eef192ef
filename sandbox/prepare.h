// The plan made ready for the exec path: everything opened and checked, written into sealed memory.
//
//   TRY(check_launch(plan, artifact, facts));
//   PreparedSandbox prepared = TRY(prepare(plan, facts, group));
//
// Ownership: owns its descriptors and the targets of the self-test, which go with it. Threads: one. Failure: Error;
// what this machine lacks is an Error whose stage is "sandbox" and whose errno is ENOTSUP: exit 121. After fork: not
// used.
#pragma once

#include <memory>
#include <vector>

#include "base/artifact.h"
#include "base/fd.h"
#include "base/result.h"
#include "sandbox/cgroup.h"
#include "sandbox/host_facts.h"
#include "sandbox/plan.h"
#include "sandbox/planted.h"

namespace oncelatch::sandbox {

struct PreparedSandbox {
  Fd message;               // memfd: the serialised plan, sealed
  std::vector<Fd> sources;  // trees or O_PATH descriptors of mounts, in the plan's order
  std::unique_ptr<Planted> planted;
};

// What can be told before anything is started or opened. The tier must be full, or one that the plan asks for.
[[nodiscard]] Status check_launch(const SandboxPlan& plan, const VerifiedArtifact& artifact, const HostFacts& facts);
// Of a plan that was checked; `group` is the one that the processes will be in, and may limit nothing.
[[nodiscard]] Result<PreparedSandbox> prepare(const SandboxPlan& plan, const VerifiedArtifact& artifact,
                                              const HostFacts& facts, const Cgroup& group);

}  // namespace oncelatch::sandbox
