// The front end of a session: checks everything, forks the supervisor, shows the agent's terminal, waits for the end.
//
//   return run(options, caller_environment());
//
// Ownership: its child is the supervisor; when that dies without cleaning up, the front end removes the session
// directory. Threads: one. Failure: one clear message on stderr and the exit code of oncelatch(1). After fork: the
// child is the supervisor.
#pragma once

#include <string>
#include <vector>

#include "launcher/options.h"

namespace oncelatch::launcher {

[[nodiscard]] int run(const RunOptions& options, std::vector<std::string> environment);
// Attaches this terminal to a running session; with an empty id to the only one.
[[nodiscard]] int attach(const std::string& id, std::vector<std::string> environment);

}  // namespace oncelatch::launcher
