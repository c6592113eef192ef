// What came of the work in a worktree, and the way of it into the user's checkout. The agent could write in worktree
// and git directory, so first the objects in question are brought into a directory of our own, where each has the
// content of its name; patch, effects, merge and files come from there.
//
//   WorktreeWork work = TRY(WorktreeWork::open(repository, tree));
//   std::string patch = TRY(work.diff());
//   TRY(work.commit());                             // what the agent didn't commit
//   WorktreeMerge merge = TRY(work.prepare());      // in objects only
//   TRY(work.apply(merge));                         // into the branch that is checked out here
//
// NAME.own beside the worktree holds these objects and our indexes: that of the worktree, and that of the checkout, are
// the agent's to write. Nothing of the checkout is lost: files that git doesn't keep, ignored ones too, and changes,
// told by content, refuse. Ownership: holds NAME.own alone. Threads: one. Failure: Error of stage "worktree" or "git";
// what fails leaves branch, checkout and worktree as they were. After fork: not used.
#pragma once

#include <string>
#include <vector>

#include "launcher/host_effects.h"
#include "launcher/host_git.h"
#include "launcher/own_objects.h"
#include "launcher/tree_changes.h"

namespace oncelatch::launcher {

struct Worktree {
  std::string name;
  std::string path;
  std::string git_dir;  // its own, in the repository's; empty: the repository doesn't know it any more
  [[nodiscard]] std::string branch() const { return "oncelatch/" + name; }
  [[nodiscard]] std::string reference() const { return "refs/heads/" + branch(); }
};

struct WorktreeRepository {
  GitPlace main;     // what is checked out where the command was started
  std::string root;  // of this repository's worktrees
  HostGit own;       // writes in the root only
  HostGit shared;    // in the git directory, too
  HostGit checkout;  // in the user's work tree and in the root
};

struct WorktreeState {
  std::string head;          // of what is checked out here
  std::string tip;           // of the branch
  std::string base;          // where it left the head
  std::string tree;          // of all the worktree's files that aren't ignored
  bool uncommitted = false;  // the tree isn't the tip's
  std::size_t commits = 0;   // since the base
};

// What the branch that is checked out here becomes.
struct WorktreeMerge {
  std::string from;
  std::string to;
};

class WorktreeWork {
 public:
  // By what the repository says, to tell of it: nothing else can be done with it.
  [[nodiscard]] static Result<WorktreeWork> look(const WorktreeRepository& repository, const Worktree& tree);
  [[nodiscard]] static Result<WorktreeWork> open(const WorktreeRepository& repository, const Worktree& tree);
  [[nodiscard]] const WorktreeState& state() const { return state_; }

  // As git prints it, from the base to what lies in the worktree.
  [[nodiscard]] Result<std::string> diff() const;
  // What takes effect on the host where one tree, or commit's tree, becomes the other.
  [[nodiscard]] Result<AfterRunReport> effects(const std::string& from, const std::string& to) const;
  // Everything in it that isn't ignored, as one commit of its branch.
  [[nodiscard]] Status commit();
  // Its commits on what is checked out here: forward, or by a merge without conflicts. In objects only.
  [[nodiscard]] Result<WorktreeMerge> prepare() const;
  // Nothing of the user's is lost: no change, no file that git doesn't know, ignored ones included.
  [[nodiscard]] Status apply(const WorktreeMerge& merge) const;

 private:
  WorktreeWork(const WorktreeRepository& repository, const Worktree& tree, OwnObjects own);
  [[nodiscard]] Status take_snapshot();
  [[nodiscard]] Status measure(const GitPlace& place);
  [[nodiscard]] Status verify();
  // Where head and tip meet; `starts`: the same, or what several such commits have in common themselves.
  struct Span {
    std::vector<std::string> bases, starts;
  };
  [[nodiscard]] Result<Span> claimed_span() const;
  [[nodiscard]] Result<std::vector<std::string>> claimed_objects(const Span& span) const;
  [[nodiscard]] Result<std::vector<std::string>> ends(const Span& span) const;

  [[nodiscard]] Result<std::string> ask(const std::vector<std::string>& arguments) const;
  [[nodiscard]] GitPlace checkout_place() const;
  [[nodiscard]] GitPlace index_place() const;
  [[nodiscard]] Result<std::vector<TreeChange>> changes(const GitPlace& place, const std::string& from,
                                                        const std::string& to) const;
  [[nodiscard]] Status give(const std::string& from, const std::string& to) const;
  [[nodiscard]] Result<std::string> merge() const;
  [[nodiscard]] Result<std::string> own_branch() const;
  [[nodiscard]] Status check_as_committed(const WorktreeMerge& merge, const std::vector<TreeChange>& changes) const;
  [[nodiscard]] Status check_checkout(const WorktreeMerge& merge) const;
  [[nodiscard]] Status move_head(const std::string& branch, const WorktreeMerge& merge) const;
  [[nodiscard]] Status move_index(const WorktreeMerge& merge) const;

  const WorktreeRepository* repository_;  // borrowed
  Worktree tree_;
  OwnObjects own_;
  WorktreeState state_;
};

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

}  // namespace oncelatch::launcher
