// The commands beside run and attach. Each prints to stdout and returns the exit code.
//
//   return doctor(json, caller_environment());
//
// Ownership: none. Threads: one. Failure: a message on stderr and a documented exit code. Everything printed is
// escaped.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/options.h"

namespace oncelatch::launcher {

// 0 when every required feature is there, 121 when not.
[[nodiscard]] int doctor(bool json);
[[nodiscard]] int approvals_list(bool json, const std::vector<std::string>& environment);
[[nodiscard]] int approvals_answer(const std::string& id, bool accept, const std::vector<std::string>& environment);
[[nodiscard]] int audit_list(bool json, const std::string& session, std::size_t most,
                             const std::vector<std::string>& environment);
// 0 every chain fits, 2 a session without its end, 4 a row was altered.
[[nodiscard]] int audit_verify(const std::vector<std::string>& environment);
// 0, or the code of what was refused; nothing of the repository is run.
[[nodiscard]] int worktree(const WorktreeOptions& options, const std::vector<std::string>& environment);
// 0; 1 where `apply` left something.
[[nodiscard]] int changes(const ChangesOptions& options, const std::vector<std::string>& environment);
[[nodiscard]] int demo(bool watch, const std::vector<std::string>& environment);

}  // namespace oncelatch::launcher
