// `oncelatch why`: whether the sandbox permits something, by which rule, and what would change it. Answered from the
// plan that exec would use and, independently, by an attempt in a real sandbox of that plan.
//
//   return why_command({"--net", "none", "/etc/shadow"}, caller_environment());
//
// Ownership: none. Threads: one. Failure: as exec_command(); plan and attempt that disagree are a fault (125). After
// fork: not used. Part of the light program.
#pragma once

#include <string>
#include <vector>

namespace oncelatch::launcher {

// `arguments`: options of exec, then the object. 0: permitted, 1: refused.
[[nodiscard]] int why_command(const std::vector<std::string>& arguments, const std::vector<std::string>& environment);

}  // namespace oncelatch::launcher
