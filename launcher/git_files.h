// Files of a git directory that git on the host writes, before it does: none is a link, or lies behind one. Git would
// follow it, and whoever worked there inside would have chosen what is written.
//
//   TRY(check_git_files({"/home/u/project/.git"}, {"refs/heads/oncelatch/fix"}));
//
// Ownership: none. Threads: no state. Failure: Error of stage "worktree" that names the link. After fork: allocates.
// Source: gitrepository-layout(5).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace oncelatch::launcher {

// In each directory: HEAD and the branch that it names, the index, logs, objects, what is packed; and these references.
[[nodiscard]] Status check_git_files(const std::vector<std::string>& directories,
                                     const std::vector<std::string>& references);

}  // namespace oncelatch::launcher
