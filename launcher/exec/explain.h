// `oncelatch exec --explain`: what would be visible, writable and refused, and by which rule. Starts nothing.
//
//   return explain_exec(options, environment);
//
// Ownership: none. Threads: one. Failure: as exec_command(). After fork: not used. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "launcher/exec/options.h"

namespace oncelatch::launcher {

[[nodiscard]] int explain_exec(const ExecOptions& options, const std::vector<std::string>& environment);

}  // namespace oncelatch::launcher
