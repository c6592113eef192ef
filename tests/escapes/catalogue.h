// The cases of tests/cases/sandbox-escapes.json (part "sandbox core") and rows of ordinary work, as data.
//
//   for (const Case& one : catalogue()) ...
//
// Ownership: values. Threads: any. Failure: none. After fork: not used.
#pragma once

#include <vector>

#include "tests/escapes/case.h"

namespace oncelatch::escapes {

[[nodiscard]] std::vector<Case> file_cases();
[[nodiscard]] std::vector<Case> process_cases();
[[nodiscard]] std::vector<Case> kernel_cases();
[[nodiscard]] std::vector<Case> terminal_cases();
[[nodiscard]] std::vector<Case> policy_cases();
[[nodiscard]] std::vector<Case> socket_cases();
[[nodiscard]] std::vector<Case> environment_cases();
[[nodiscard]] std::vector<Case> limit_cases();
[[nodiscard]] std::vector<Case> work_cases();
// All of them, escapes by id, then the work.
[[nodiscard]] std::vector<Case> catalogue();

}  // namespace oncelatch::escapes
