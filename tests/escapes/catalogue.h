// The cases of tests/cases/sandbox-escapes.json (parts "sandbox core" and "workspace guard") and rows of ordinary work, as data.
//
//   for (const Case& one : catalogue()) ...
//
// Every attempt is also made without a launcher, by root too: one that succeeds must leave the machine as it was. So
// words open what lies outside the scene, but never write, create or signal there, and calls carry arguments that the
// kernel refuses after its check of privilege.
//
// Ownership: values. Threads: any. Failure: none. After fork: not used.
#pragma once

#include <vector>

#include "tests/escapes/case.h"

namespace oncelatch::escapes {

[[nodiscard]] std::vector<Case> file_cases();
[[nodiscard]] std::vector<Case> guard_cases();
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
