// Covers over what of a git repository would run on the host later, or leads git elsewhere: the layer of mounts behind
// the workspace guard. It covers what is there at the start.
//
//   for (Cover& cover : TRY(git_covers("/home/u/project", {"/home/u/project"})))
//   plan.covers.push_back(std::move(cover));
//
// Ownership: values. Threads: any. Failure: Error of stage "workspace" where something can't be looked at. After fork:
// allocates. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {

// `directory`: a real path, the root of a work tree or a repository by itself. `shown` as of cover_path(). `always`:
// names count although nothing of a repository is there.
[[nodiscard]] Result<std::vector<sandbox::Cover>> git_covers(const std::string& directory,
                                                             const std::vector<std::string>& shown, bool always);

}  // namespace oncelatch::launcher
