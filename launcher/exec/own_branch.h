// The branch that a session may move where it may move no other (--git own-branch): the one that is checked out.
//
//   OwnBranch branch = TRY(find_own_branch("/home/u/project", repository));
//   for (const std::string& name : TRY(kept_references(branch))) protect(branch.git_directory, name);
//
// Ownership: values. Threads: any. Failure: Error of stage "workspace" (exit 122): no repository, no branch checked
// out, references that don't lie in files. After fork: allocates. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/exec/repository.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {

// `repository` as found for the workspace.
[[nodiscard]] Result<sandbox::OwnBranch> find_own_branch(const std::string& workspace, const Repository& repository);
// Files and directories of the git directory, relative to it, that hold other branches, tags and HEADs: what is there
// now. A read-only mount over each keeps them from being removed.
[[nodiscard]] Result<std::vector<std::string>> kept_references(const sandbox::OwnBranch& branch);

}  // namespace oncelatch::launcher
