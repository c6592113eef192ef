// The part of WorktreeWork that writes outside of our own directory.
#include <climits>
#include <set>
#include <utility>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/git_files.h"
#include "launcher/worktree_work.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "worktree";
constexpr const char* kCommitThem = "commit or stash what you changed in the same files";

}  // namespace

// The commit `to`, and what it has that `from` hasn't.
Status WorktreeWork::give(const std::string& from, const std::string& to) const {
  std::vector<std::string> objects = {to};
  const std::string raw = TRY(ask({"diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev", from, to}));
  const std::vector<TreeChange> all = TRY(parse_tree_changes(raw));
  for (const TreeChange& change : all)
    if (change.mode != 0 && change.mode != kGitLink) objects.push_back(change.after);
  objects.push_back(TRY(ask({"rev-parse", to + "^{tree}"})));
  return own_.give(repository_->shared, objects);
}

Status WorktreeWork::commit() {
  if (!state_.uncommitted) return {};
  const GitPlace& main = repository_->main;
  const std::string made =
      TRY(ask({"commit-tree", state_.tree, "-p", state_.tip, "-m", "Changes in the worktree " + tree_.name}));
  TRY(give(state_.tip, made));
  TRY(repository_->shared.ask(
      main, {"update-ref", "--no-deref", "-m", "oncelatch worktree: commit", tree_.reference(), made, state_.tip}));
  state_.tip = made;
  state_.uncommitted = false;
  ++state_.commits;
  // So that git says in the worktree what is so; where the agent put something else in its place, it stays.
  GitPlace place = main;
  place.git_dir = tree_.git_dir;
  place.work_tree = tree_.path;
  (void)repository_->shared.ask(place, {"read-tree", "-i", "-m", made});
  return {};
}

// In objects only: the checkout isn't touched, and a conflict leaves nothing behind.
Result<std::string> WorktreeWork::merge() const {
  const Output merged = TRY(repository_->own.run(
      own_.verified(), {"merge-tree", "--write-tree", "--name-only", "-z", state_.head, state_.tip}));
  const int code = merged.status.shell_code();
  const std::string next = "git merge " + tree_.branch();
  if (code == 1) {
    std::string conflicts;
    std::size_t at = merged.out.find('\0');
    for (unsigned count = 0; count < 5 && at != std::string::npos; ++count) {
      const std::size_t end = merged.out.find('\0', at + 1);
      if (end == std::string::npos || end == at + 1) break;
      conflicts += (conflicts.empty() ? "" : ", ") + escape_for_display(merged.out.substr(at + 1, end - at - 1), 100);
      at = end;
    }
    return fail(kStage, tree_.name, "conflicts with what is checked out here: " + conflicts, next);
  }
  const std::string made = merged.out.substr(0, merged.out.find('\0'));
  if (code != 0 || made.empty())
    return fail(kStage, tree_.name, "can't be merged: " + escape_for_display(merged.err, 200), next);
  return ask({"commit-tree", made, "-p", state_.head, "-p", state_.tip, "-m", "Merge branch '" + tree_.branch() + "'"});
}

// The branch that is checked out, by its own name: one that names another would move that.
Result<std::string> WorktreeWork::own_branch() const {
  const GitPlace& main = repository_->main;
  const Result<std::string> branch = repository_->shared.ask(main, {"symbolic-ref", "-q", "HEAD"});
  if (!branch || !branch->starts_with("refs/heads/"))
    return fail(kStage, escape_for_display(main.work_tree, 400), "no branch is checked out", "git switch BRANCH");
  if (*branch == tree_.reference())
    return fail(kStage, tree_.name, "is what is checked out here", "start in the checkout that is to have it");
  const Fd directory = TRY(open_directory(main.git_dir));
  const std::string head = TRY(read_file(directory.get(), "HEAD", PATH_MAX));
  if (head == "ref: " + *branch + "\n" || head == "ref: refs/heads/.invalid\n") return *branch;  // reftable
  return fail(kStage, escape_for_display(head.substr(0, head.find('\n')), 200),
              "is another name of " + escape_for_display(*branch, 200) + ", which would move",
              "git switch to that one");
}

// An index of our own: that of the repository says of files what the agent may have written in it.
GitPlace WorktreeWork::checkout_place() const {
  GitPlace place = own_.verified();
  place.index = own_.path("checkout");
  return place;
}

// The user's, for what was added to it.
GitPlace WorktreeWork::index_place() const {
  GitPlace place = own_.verified();
  place.index = repository_->main.git_dir + "/index";
  return place;
}

// By content: our index of what is committed against the files.
Status WorktreeWork::check_as_committed(const WorktreeMerge& merge, const std::vector<TreeChange>& changes) const {
  const GitPlace place = checkout_place();
  TRY(repository_->own.ask(place, {"read-tree", "-i", "-m", "--no-sparse-checkout", merge.from}));
  (void)repository_->own.run(place, {"update-index", "-q", "--refresh", "--ignore-submodules"});
  const std::string text = TRY(repository_->own.ask(
      place, {"diff-files", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=all"}));
  std::set<std::string> touched;
  for (std::size_t start = 0; start < text.size(); start = text.find('\0', start) + 1)
    touched.insert(text.substr(start, text.find('\0', start) - start));
  std::string told;
  std::size_t count = 0;
  for (const TreeChange& change : changes) {
    if (touched.count(change.path) == 0) continue;
    constexpr std::size_t kMostTold = 5;
    if (++count <= kMostTold) told += (count == 1 ? "" : ", ") + escape_for_display(change.path, 100);
    if (count == kMostTold + 1) told += ", …";
  }
  if (count == 0) return {};
  return fail(kStage, tree_.name, "changes files that you changed, too: " + told, kCommitThem);
}

// In vain, to see that nothing of the user's stands in the way: files that git doesn't know, changed ones, and what was
// added to the index.
Status WorktreeWork::check_checkout(const WorktreeMerge& merge) const {
  const std::vector<TreeChange> moving = TRY(changes(own_.verified(), merge.from, merge.to));
  TRY(check_nothing_is_in_the_way(tree_.name, repository_->main.work_tree, moving));
  TRY(check_as_committed(merge, moving));
  Result<std::string> tried = repository_->own.ask(
      checkout_place(),
      {"read-tree", "-n", "-m", "-u", "--no-sparse-checkout", "--no-recurse-submodules", merge.from, merge.to});
  if (tried) tried = repository_->shared.ask(index_place(), {"read-tree", "-n", "-i", "-m", merge.from, merge.to});
  if (tried) return {};
  return fail(kStage, tree_.name, tried.error().what, kCommitThem);
}

Status WorktreeWork::move_index(const WorktreeMerge& merge) const {
  Result<std::string> moved = repository_->shared.ask(index_place(), {"read-tree", "-i", "-m", merge.from, merge.to});
  if (!moved) return fail(kStage, tree_.name, "is applied, but not to git's index: " + moved.error().what, "git reset");
  (void)repository_->shared.run(repository_->main, {"update-index", "-q", "--refresh", "--ignore-submodules"});
  return {};
}

Status WorktreeWork::move_head(const std::string& branch, const WorktreeMerge& merge) const {
  auto set = [&](const std::string& what, const std::string& now, const std::string& before) {
    return repository_->shared.ask(repository_->main, {"update-ref", "--no-deref", "-m",
                                                       "oncelatch worktree apply: " + what, branch, now, before});
  };
  TRY(set(tree_.name, merge.to, merge.from));
  Result<std::string> done = repository_->checkout.ask(
      checkout_place(),
      {"read-tree", "-m", "-u", "--no-sparse-checkout", "--no-recurse-submodules", merge.from, merge.to});
  if (done) return move_index(merge);
  (void)set("undone", merge.from, merge.to);
  return fail(kStage, tree_.name, "isn't in your checkout whole: " + done.error().what,
              "git status, and git restore what it names");
}

Result<WorktreeMerge> WorktreeWork::prepare() const {
  if (state_.uncommitted)
    return fail(kStage, tree_.name, "has changes that aren't committed",
                "oncelatch worktree apply --commit " + tree_.name);
  (void)TRY(own_branch());
  if (state_.base == state_.tip) return WorktreeMerge{state_.head, state_.head};
  return WorktreeMerge{state_.head, state_.base == state_.head ? state_.tip : TRY(merge())};
}

Status WorktreeWork::apply(const WorktreeMerge& merge) const {
  if (merge.from == merge.to) return {};
  const std::string branch = TRY(own_branch());
  TRY(check_checkout(merge));
  TRY(give(merge.from, merge.to));
  return move_head(branch, merge);
}

}  // namespace oncelatch::launcher
