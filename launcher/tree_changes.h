// What differs between two trees of git, as `git diff-tree -z --raw --no-abbrev` tells it, and whether a checkout of
// the first can become one of the second without a loss.
//
//   std::vector<TreeChange> changes = TRY(parse_tree_changes(raw));
//   TRY(check_nothing_is_in_the_way("fix", "/home/u/p", changes));
//
// Ownership: values. Threads: any. Failure: Error of stage "worktree"; what git prints otherwise than it should is one.
// After fork: allocates.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace oncelatch::launcher {

struct TreeChange {
  std::string path;
  mode_t was = 0, mode = 0;   // 0: isn't there
  std::string before, after;  // names of objects; zeroes where it isn't there
  char status = 0;            // A, D, M, T
};
inline constexpr mode_t kGitLink = 0160000;

[[nodiscard]] Result<std::vector<TreeChange>> parse_tree_changes(const std::string& text);
// Whatever lies in the work tree where something new comes, ignored or not, refuses, told for the worktree of this
// name; so does a link in place of a directory. Files that are changed or go are git's to compare.
[[nodiscard]] Status check_nothing_is_in_the_way(const std::string& name, const std::string& work_tree,
                                                 const std::vector<TreeChange>& changes);

}  // namespace oncelatch::launcher
