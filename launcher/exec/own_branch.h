// The branch that a session may move where it may move no other (--git own-branch): the one that is checked out.
//
//   OwnBranch branch = TRY(find_own_branch("/home/u/project", repository));
//   for (const std::string& name : TRY(kept_references(branch))) protect(branch.git_directory, name);
//   OwnReference own = TRY(OwnReference::remember(branch)); … TRY(own.mend());
//
// Ownership: values. Threads: any. Failure: Error of stage "workspace" (exit 122): no repository, no branch checked
// out, references that don't lie in files. After fork: allocates. Part of the light program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/exec/repository.h"
#include "launcher/host_effects.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {

// `repository` as found for the workspace.
[[nodiscard]] Result<sandbox::OwnBranch> find_own_branch(const std::string& workspace, const Repository& repository);
// Files and directories of the git directory, relative to it, that hold other branches, tags and HEADs: what is there
// now. A read-only mount over each keeps them from being removed.
[[nodiscard]] Result<std::vector<std::string>> kept_references(const sandbox::OwnBranch& branch);

// The own reference before and after: what it says can't be held, so it may have been made to name another one, which
// the next commit outside would move. Then it's put back. Owns the git directory's descriptor.
class OwnReference {
 public:
  [[nodiscard]] static Result<OwnReference> remember(const sandbox::OwnBranch& branch);
  // The directory that it's put back in.
  [[nodiscard]] std::string place() const;
  // Once nothing runs inside any more. None: it's a commit's name, or packed, as it should be.
  [[nodiscard]] Result<std::optional<HostEffect>> mend() const;

 private:
  OwnReference() = default;
  [[nodiscard]] Status put_back() const;
  Fd directory_;
  std::string git_directory_;
  std::string reference_;
  std::string before_;  // the whole file; empty: there was none
};

}  // namespace oncelatch::launcher
