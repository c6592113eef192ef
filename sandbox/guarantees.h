// What a sandbox promises, for a machine and a plan: DESIGN section 6's guarantees, the layers that hold each, and its
// limit. What is required and isn't held refuses the launch, unless its loss was accepted by name.
//
//   std::vector<Guarantee> given = guarantees(facts, plan);
//   TRY(check_required(given, default_requirements(), accepted_losses, facts));
//   for (const Loss& loss : losses(given, default_requirements(), accepted_losses)) print(loss.name, loss.gives_up);
//
// Ownership: values. Threads: any. Failure: Error; ENOTSUP where a guarantee is missing, EINVAL for a name that doesn't
// exist. After fork: allocates.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/host_facts.h"
#include "sandbox/plan.h"

namespace oncelatch::sandbox {

struct Guarantee {
  std::string name;  // write_scope read_scope deny_inside creation_guard network domain_allowlist host_sockets
                     // processes terminal limits explain
  std::vector<std::string> layers;  // independent: each alone refuses. Empty: not given
  std::string limit;                // what is not covered, in a sentence; may be empty
  std::string instead = {};         // what would hold it, where it isn't given
};

// All eleven, always in this order.
[[nodiscard]] std::vector<Guarantee> guarantees(const HostFacts& facts, const SandboxPlan& plan);

[[nodiscard]] bool is_guarantee(const std::string& name);
// What to try instead of a name that none has.
[[nodiscard]] std::string guarantee_meant_by(const std::string& name);

struct Requirement {
  std::string name;
  unsigned layers = 1;
};
[[nodiscard]] const std::vector<Requirement>& default_requirements();

// `accepted_losses` come from the person or the administrator, never from a repository.
[[nodiscard]] Status check_required(const std::vector<Guarantee>& given, const std::vector<Requirement>& required,
                                    const std::vector<std::string>& accepted_losses, const HostFacts& facts);

// A required guarantee that isn't held as required, and whose loss was accepted.
struct Loss {
  std::string name;
  unsigned required = 0;
  std::vector<std::string> layers;  // that hold it all the same
  std::string limit;
  std::string gives_up;  // a sentence
};
[[nodiscard]] std::vector<Loss> losses(const std::vector<Guarantee>& given, const std::vector<Requirement>& required,
                                       const std::vector<std::string>& accepted_losses);

}  // namespace oncelatch::sandbox
