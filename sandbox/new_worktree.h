// `git worktree add` inside: the files that say where a linked worktree and its repository are, with the only text that
// is right, written by us. What git writes itself goes to files without a name that nobody reads.
//
//   NewWorktrees worktrees;
//   long fd = worktrees.begin(rules, place);   // REPOSITORY/worktrees/NAME/gitdir is to be made
//   fd = worktrees.link(rules, place);         // then WORKTREE/.git, which makes all three
//   fd = worktrees.repeat(path);               // then REPOSITORY/worktrees/NAME/commondir, which is there by now
//
// The worktree is an empty directory in a guarded tree where files may be made, and its own path is what was written
// into the first file. Several are under way at once, beyond that the oldest is refused. Ownership: the descriptors are
// the caller's; two for each are kept from begin() to repeat(), or until another one takes its place, and not closed at
// the end. Threads: one, with the umask of who asks. Failure: -errno; -EACCES where it's none of this, and nothing was
// made. After fork: safe; freestanding. Source: gitrepository-layout(5), git-worktree(1), "details".
#pragma once

#include "sandbox/broker_place.h"
#include "sandbox/guard_rules.h"

namespace oncelatch::sandbox {

class NewWorktrees {
 public:
  long begin(const GuardRules& rules, const Place& place);
  long link(const GuardRules& rules, const Place& place);
  long repeat(const char* path);

 private:
  struct One {
    enum class State : std::uint8_t { none, begun, linked } state = State::none;
    int own = 0;   // O_PATH: REPOSITORY/worktrees/NAME
    int text = 0;  // what git writes as its gitdir
  };
  static void forget(One& one);
  static long link(One& one, const GuardRules& rules, const Place& place);

  static constexpr unsigned kMost = 4;
  One all_[kMost] = {};
  unsigned next_ = 0;
};

}  // namespace oncelatch::sandbox
