// Worktrees for agents: a branch oncelatch/NAME of a repository and a linked worktree (git-worktree(1)) in the caller's
// state directory, so that the main checkout isn't written in. What came of it is looked at, taken over or dropped.
//
//   Worktrees repository = TRY(Worktrees::open(".", environment));
//   Worktree tree = TRY(repository.create("fix-login"));      // "" for a name by the time
//   WorktreeWork work = TRY(repository.work(tree));           // shows it, and applies it here
//   TRY(repository.drop(tree, false));
//
// $XDG_STATE_HOME/oncelatch/worktrees/REPOSITORY/NAME is the worktree, NAME.lock is held by who works in it, NAME.own
// is ours (launcher/worktree_work.h). All of it is done by launcher/host_git.h, which runs nothing of the repository.
// Ownership: values; what work() gives borrows. Threads: one. Failure: Error of stage "worktree" or "git"; what fails
// leaves branch, checkout and worktree as they were. After fork: not used.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/worktree_work.h"

namespace oncelatch::launcher {

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

  // By what the repository says: to tell of it.
  [[nodiscard]] Result<WorktreeState> state(const Worktree& tree) const;
  [[nodiscard]] Result<WorktreeWork> work(const Worktree& tree) const { return WorktreeWork::open(repository_, tree); }
  // Refuses what would be lost, unless forced.
  [[nodiscard]] Status drop(const Worktree& tree, bool force) const;

 private:
  explicit Worktrees(WorktreeRepository repository) : repository_(std::move(repository)) {}
  [[nodiscard]] GitPlace place_of(const Worktree& tree) const;
  [[nodiscard]] std::string git_dir_of(const std::string& path) const;
  [[nodiscard]] Worktree at(const std::string& name) const;
  [[nodiscard]] Status check_nothing_is_lost(const Worktree& tree) const;
  [[nodiscard]] Status remove(const Worktree& tree) const;

  WorktreeRepository repository_;
};

// Letters, digits, "-", "_" and "." as a branch and a directory can have them.
[[nodiscard]] Status check_worktree_name(const std::string& name);

}  // namespace oncelatch::launcher
