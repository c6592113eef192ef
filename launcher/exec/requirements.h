// The guarantees that a launch needs: the project's own, raised by --require.
//
//   TRY(sandbox::check_required(given, requirements_of(options), options.accepted_losses, facts));
//
// Ownership: a value. Threads: any. Failure: none; names are checked by check_required(). After fork: allocates. Part
// of the light program.
#pragma once

#include <vector>

#include "launcher/exec/options.h"
#include "sandbox/guarantees.h"

namespace oncelatch::launcher {

// Of two numbers of layers for one name the greater holds: nothing is lowered.
[[nodiscard]] std::vector<sandbox::Requirement> requirements_of(const ExecOptions& options);

}  // namespace oncelatch::launcher
