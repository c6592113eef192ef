// The git repository that a workspace belongs to, where that lies outside of it: of a linked worktree
// (git-worktree(1)), or of a directory below the work tree's root.
//
//   Repository repository = find_repository("/home/u/project-fix", home);
//   if (!repository.directory.empty()) show(repository.directory);     // writable, guarded
//
// The workspace's own files say where that is, and nobody vouches for them: a directory is taken only if it is a
// repository's, names the workspace in turn, and it and what leads there belong to one user, the caller or the
// workspace's owner. Ownership: values. Threads: one. Failure: none; what isn't taken is told in `note`. After fork:
// allocates. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "sandbox/plan.h"

namespace oncelatch::launcher {

struct Repository {
  std::string directory;  // what all its worktrees share (GIT_COMMON_DIR): real path; empty: in the workspace, or none
  std::string own;        // of this worktree alone (GIT_DIR); `directory`, but in a linked one
  std::string root;       // of the work tree that the workspace is a part of: real path; empty: it's the root itself
  std::string note;       // why there is one that can't be shown; else empty
};

// `workspace`: a real path. `home`: real path of the caller's, empty when unknown; it is never shown, nor is
// that of the workspace's owner.
[[nodiscard]] Repository find_repository(const std::string& workspace, const std::string& home);

// Where git writes in it: writable, and only where the broker knows what may be made there. Of a linked worktree what
// all share, and its own directory; the main checkout's own files and other worktrees' stay.
[[nodiscard]] std::vector<sandbox::Bind> repository_binds(const Repository& repository);

// The pointers `.git` of the linked worktrees that a repository knows and that know it: without them git takes a
// worktree for removed, and forgets it. At most 32.
[[nodiscard]] std::vector<std::string> worktree_pointers(const std::string& git_directory);

}  // namespace oncelatch::launcher
