// What differs between two trees, as `git diff-tree -r -z --raw --no-renames` says it.
//
//   for (const TreeChange& change : parse_tree_changes(text)) if (change.is_new()) …
//
// Ownership: values. Threads: any. Failure: what can't be read ends the list; the text is git's own. After fork:
// allocates. Source: git-diff-tree(1), "raw output format".
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::launcher {

struct TreeChange {
  std::string path;
  mode_t mode = 0;            // afterwards; 0: it's gone
  std::string before, after;  // blobs
  char status = 0;            // "A", "D", "M", "T"
};

inline constexpr mode_t kGitLink = 0160000;  // a submodule's commit

[[nodiscard]] std::vector<TreeChange> parse_tree_changes(std::string_view text);

}  // namespace oncelatch::launcher
