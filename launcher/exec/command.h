// `oncelatch exec`: only the sandbox, for any command.
//
//   return exec_command({"--net", "none", "--", "make"}, caller_environment());
//
// Ownership: none. Threads: one. Failure: a message on stderr and the exit code of exit_codes.h; the report, where one
// was asked for, says the same. After fork: not used. Part of the light program.
#pragma once

#include <string>
#include <vector>

namespace oncelatch::launcher {

// `arguments` are what follows "exec"; returns the exit code.
[[nodiscard]] int exec_command(const std::vector<std::string>& arguments, const std::vector<std::string>& environment);

}  // namespace oncelatch::launcher
