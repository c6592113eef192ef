// `git worktree add` inside: the files that say where a linked worktree and its repository are, with the only text that
// is right, written by us. What git writes itself goes to files without a name that nobody reads.
//
//   NewWorktree worktree;
//   long fd = worktree.begin(rules, place, mode);     // REPOSITORY/worktrees/NAME/gitdir is to be made
//   fd = worktree.link(rules, place, mode);           // then WORKTREE/.git, which makes all three
//   fd = worktree.repeat(path);                       // then REPOSITORY/worktrees/NAME/commondir, which is there by
//   now
//
// The worktree is an empty directory in a guarded tree where files may be made, and its own path is what was written
// into the first file; one at a time. Ownership: the descriptors are the caller's; two are kept from begin() to
// repeat(), or to the next one, and not closed at the end.
// Threads: one. Failure: -errno; -EACCES where it's none of this, and nothing was made. After fork: safe; freestanding.
// Source: gitrepository-layout(5), git-worktree(1), "details".
#pragma once

#include "sandbox/broker_place.h"
#include "sandbox/guard_rules.h"

namespace oncelatch::sandbox {

class NewWorktree {
 public:
  long begin(const GuardRules& rules, const Place& place, unsigned mode);
  long link(const GuardRules& rules, const Place& place, unsigned mode);
  long repeat(const char* path);

 private:
  [[nodiscard]] bool says(const char* pointer) const;
  long make_files(const Place& place, unsigned mode) const;
  void forget();
  int own_ = -1;                    // O_PATH: REPOSITORY/worktrees/NAME
  int text_ = -1;                   // what git writes as its gitdir
  char path_[kMostPathBytes] = {};  // of own_; empty: there is none
  bool linked_ = false;
};

}  // namespace oncelatch::sandbox
