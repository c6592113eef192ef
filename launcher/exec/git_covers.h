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

// What the repository of the same `directory` takes from each of its work trees, hooks for example, and no name guards:
// "tools/hooks" of its settings, where a linked worktree that is made inside has one of its own. Empty: nothing.
[[nodiscard]] std::string named_in_each_work_tree(const std::string& directory);

}  // namespace oncelatch::launcher
