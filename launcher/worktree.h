// Worktrees for agents: a branch oncelatch/NAME of a repository and a linked worktree (git-worktree(1)) in the caller's
// state directory, so that the main checkout isn't written in. What came of it is looked at, taken over or dropped.
//
//   Worktrees repository = TRY(Worktrees::open(".", environment));
//   Worktree tree = TRY(repository.create("fix-login"));      // "" for a name by the time
//   WorktreeState state = TRY(repository.state(tree));        // commits, uncommitted changes
//   WorktreeMerge merge = TRY(repository.prepare(tree, state)); // in objects only
//   TRY(repository.apply(tree, merge));                       // into the branch that is checked out here
//
// $XDG_STATE_HOME/oncelatch/worktrees/REPOSITORY/NAME is the worktree, NAME.lock is held by who works in it, NAME.index
// is the index that its state is taken with: that of the worktree itself is the agent's. All of it is done by
// launcher/host_git.h, which runs nothing of the repository. Ownership: values. Threads: one. Failure: Error of stage
// "worktree" or "git"; what fails leaves branch, checkout and worktree as they were. After fork: not used.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/host_effects.h"
#include "launcher/host_git.h"
#include "launcher/tree_changes.h"

namespace oncelatch::launcher {

struct Worktree {
  std::string name;
  std::string path;
  std::string git_dir;  // its own, in the repository's; empty: the repository doesn't know it any more
  [[nodiscard]] std::string branch() const { return "oncelatch/" + name; }
  [[nodiscard]] std::string reference() const { return "refs/heads/" + branch(); }
};

struct WorktreeState {
  std::string tip;           // of the branch
  std::string base;          // where it left what is checked out here
  std::string tree;          // of all its files that aren't ignored
  bool uncommitted = false;  // the tree isn't the tip's
  std::size_t commits = 0;   // since the base
};

// What the branch that is checked out here becomes.
struct WorktreeMerge {
  std::string from;
  std::string to;
};

class Worktrees {
 public:
  // Of the repository around the directory.
  [[nodiscard]] static Result<Worktrees> open(const std::string& directory,
                                              const std::vector<std::string>& environment);
  [[nodiscard]] std::vector<Worktree> all() const;
  // Empty: the only one there is.
  [[nodiscard]] Result<Worktree> find(const std::string& name) const;
  [[nodiscard]] bool exists(const std::string& name) const;
  [[nodiscard]] Result<Worktree> create(const std::string& name) const;
  // While it lives nobody else works in it. An error where somebody does.
  [[nodiscard]] Result<Fd> lock(const Worktree& tree) const;

  [[nodiscard]] Result<WorktreeState> state(const Worktree& tree) const;
  // As git prints it, from the base to what lies in the worktree now.
  [[nodiscard]] Result<std::string> diff(const WorktreeState& state) const;
  // What takes effect on the host where one tree, or commit's tree, becomes the other.
  [[nodiscard]] Result<AfterRunReport> effects(const std::string& from, const std::string& to) const;
  // Everything in it that isn't ignored, as one commit of its branch.
  [[nodiscard]] Status commit(const Worktree& tree, WorktreeState& state) const;
  // Its commits on what is checked out here: forward, or by a merge without conflicts.
  [[nodiscard]] Result<WorktreeMerge> prepare(const Worktree& tree, const WorktreeState& state) const;
  // Nothing of the user's is lost: no change, no file that git doesn't know, ignored ones included.
  [[nodiscard]] Status apply(const Worktree& tree, const WorktreeMerge& merge) const;
  // Refuses what would be lost, unless forced.
  [[nodiscard]] Status drop(const Worktree& tree, bool force) const;

 private:
  explicit Worktrees(HostGit git) : git_(std::move(git)) {}
  [[nodiscard]] GitPlace place_of(const Worktree& tree) const;
  [[nodiscard]] GitPlace snapshot_place(const Worktree& tree) const;
  [[nodiscard]] std::string git_dir_of(const std::string& path) const;
  [[nodiscard]] Worktree at(const std::string& name) const;
  [[nodiscard]] Result<std::string> merge(const Worktree& tree, const WorktreeState& state,
                                          const std::string& head) const;
  [[nodiscard]] Result<std::vector<TreeChange>> changes_of(const std::string& from, const std::string& to) const;
  [[nodiscard]] Status check_nothing_is_there(const Worktree& tree, const std::vector<TreeChange>& changes) const;
  [[nodiscard]] Status check_as_committed(const Worktree& tree, const WorktreeMerge& merge,
                                          const std::vector<TreeChange>& changes) const;
  [[nodiscard]] Status check_nothing_is_lost(const Worktree& tree) const;
  [[nodiscard]] Status remove(const Worktree& tree) const;

  HostGit git_;
  GitPlace main_;     // what is checked out here
  std::string root_;  // of this repository's worktrees
};

// Letters, digits, "-", "_" and "." as a branch and a directory can have them.
[[nodiscard]] Status check_worktree_name(const std::string& name);

}  // namespace oncelatch::launcher
