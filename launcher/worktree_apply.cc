// What came of a worktree, on the way to the branch that is checked out: looked at, committed, merged, applied.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/after_run.h"
#include "launcher/worktree.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "worktree";
constexpr std::size_t kMostPath = 4096;
constexpr std::size_t kMostText = std::size_t{64} << 10;
constexpr std::size_t kMostArguments = std::size_t{64} << 10;  // bytes of names in one call
constexpr std::size_t kMostShown = 400;                        // bytes of names in a message

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

void append(std::string& names, const std::string& name) {
  if (names.size() > kMostShown) return;
  names +=
      (names.empty() ? "" : ", ") + (names.size() + name.size() > kMostShown ? "…" : escape_for_display(name, 200));
}

// A directory's first file that isn't in the list; empty: every one is.
std::string other_than(int root, const std::string& directory, const std::set<std::string>& known) {
  const Result<Fd> opened = open_beneath(root, directory, O_RDONLY | O_DIRECTORY);
  DIR* stream = opened ? ::fdopendir(::dup(opened->get())) : nullptr;
  if (stream == nullptr) return directory;
  std::string found;
  while (const dirent* entry = found.empty() ? ::readdir(stream) : nullptr) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = directory + "/" + name;
    struct stat status {};
    if (::fstatat(opened->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(status.st_mode))
      found = path.size() < kMostPath ? other_than(root, path, known) : path;
    else if (known.count(path) == 0)
      found = path;
  }
  ::closedir(stream);
  return found;
}

// Where a new file is to be; a file that git removes may stand there, or in the place of a directory above it.
std::string what_is_there(int root, const std::string& path, const std::set<std::string>& known,
                          bool may_be_directory) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end == 0 ? 0 : end + 1);
    const std::string part = path.substr(0, end);
    struct stat found {};
    const Result<Fd> parent = part.find('/') == std::string::npos
                                  ? open_beneath(root, ".", O_PATH | O_DIRECTORY)
                                  : open_beneath(root, part.substr(0, part.rfind('/')), O_PATH | O_DIRECTORY);
    if (!parent) return part;
    if (::fstatat(parent->get(), part.substr(part.rfind('/') + 1).c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? std::string() : part;
    const bool directory = S_ISDIR(found.st_mode);
    if (!directory) return known.count(part) != 0 ? std::string() : part;
    if (end == std::string::npos) return may_be_directory ? std::string() : other_than(root, part, known);
  }
  return {};
}

}  // namespace

Result<std::vector<TreeChange>> Worktrees::changes_of(const std::string& from, const std::string& to) const {
  return parse_tree_changes(
      TRY(git_.ask(main_, {"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to})));
}

Result<AfterRunReport> Worktrees::effects(const std::string& from, const std::string& to) const {
  AfterRunReport seen;
  auto text_of = [&](const std::string& blob) {
    Result<std::string> text = git_.ask(main_, {"cat-file", "blob", blob});  // none for what wasn't there
    return text ? text->substr(0, kMostText) : std::string();
  };
  for (const TreeChange& change : TRY(changes_of(from, to))) {
    if (change.status == 'D') continue;
    const std::string target = S_ISLNK(change.mode) ? text_of(change.after) : std::string();
    HostVerdict verdict = judge_effect(change.path, change.mode, target);
    if (change.mode == kGitLink) verdict = {"reported", "git", "names a commit of a submodule"};
    if (verdict.guard == nullptr) continue;
    HostEffect effect{.path = main_.work_tree + "/" + change.path,
                      .guard = verdict.guard,
                      .kind = verdict.kind,
                      .reason = verdict.reason,
                      .change = change.status == 'A' ? "new" : "changed",
                      .line = {}};
    if (S_ISREG(change.mode)) find_line(change.path, text_of(change.before), text_of(change.after), effect);
    if (S_ISLNK(change.mode)) effect.line = escape_for_display(target, 160);
    seen.effects.push_back(std::move(effect));
  }
  return seen;
}

Status Worktrees::commit(const Worktree& tree, WorktreeState& state) const {
  if (!state.uncommitted) return {};
  const std::string made =
      TRY(git_.ask(main_, {"commit-tree", state.tree, "-p", state.tip, "-m", "Changes in the worktree " + tree.name}));
  TRY(git_.ask(main_,
               {"update-ref", "--no-deref", "-m", "oncelatch worktree: commit", tree.reference(), made, state.tip}));
  state.tip = made;
  state.uncommitted = false;
  ++state.commits;
  // So that git says in the worktree what is so; where the agent put something else in its place, it stays.
  struct stat index {};
  if (::lstat((tree.git_dir + "/index").c_str(), &index) == 0 && S_ISREG(index.st_mode))
    (void)git_.ask(place_of(tree), {"read-tree", "-i", "-m", made});
  return {};
}

// In objects only: the checkout isn't touched, and a conflict leaves nothing behind.
Result<std::string> Worktrees::merge(const Worktree& tree, const WorktreeState& state, const std::string& head) const {
  const Output merged = TRY(git_.run(main_, {"merge-tree", "--write-tree", "--name-only", "-z", head, state.tip}));
  const int code = merged.status.shell_code();
  if (code == 1) {
    std::string conflicts;
    std::size_t at = merged.out.find('\0');
    for (unsigned count = 0; count < 5 && at != std::string::npos; ++count) {
      const std::size_t end = merged.out.find('\0', at + 1);
      if (end == std::string::npos || end == at + 1) break;
      conflicts += (conflicts.empty() ? "" : ", ") + escape_for_display(merged.out.substr(at + 1, end - at - 1), 100);
      at = end;
    }
    return fail(kStage, shown(tree.name), "conflicts with what is checked out here: " + conflicts,
                "git merge " + tree.branch());
  }
  const std::string made = merged.out.substr(0, merged.out.find('\0'));
  if (code != 0 || made.empty())
    return fail(kStage, shown(tree.name), "can't be merged: " + escape_for_display(merged.err, 200),
                "git merge " + tree.branch());
  return git_.ask(main_,
                  {"commit-tree", made, "-p", head, "-p", state.tip, "-m", "Merge branch '" + tree.branch() + "'"});
}

// By what lies there, whatever the index says of it, and whatever is called ignored: both are the agent's to write.
Status Worktrees::check_nothing_is_there(const Worktree& tree, const std::vector<TreeChange>& changes) const {
  std::set<std::string> known;  // what git removes on the way
  for (const TreeChange& change : changes)
    if (change.status == 'D') known.insert(change.path);
  const Fd root = TRY(open_directory(main_.work_tree));
  std::string in_the_way;
  for (const TreeChange& change : changes) {
    if (change.status != 'A') continue;
    const bool may_be_directory = change.mode == kGitLink;  // a submodule's, which git leaves as it is
    if (const std::string found = what_is_there(root.get(), change.path, known, may_be_directory); !found.empty())
      append(in_the_way, found);
  }
  if (in_the_way.empty()) return {};
  return fail(kStage, shown(tree.name), "brings files that are here already, and git doesn't know them: " + in_the_way,
              "move them away");
}

// By content: the index may call changed files unchanged.
Status Worktrees::check_as_committed(const Worktree& tree, const WorktreeMerge& merge,
                                     const std::vector<TreeChange>& changes) const {
  GitPlace place = main_;
  place.index = tree.path + ".index";
  if (::unlink(place.index.c_str()) != 0 && errno != ENOENT) return fail_errno(kStage, shown(place.index), errno);
  TRY(git_.ask(place, {"read-tree", merge.from}));
  const std::vector<std::string> question = {
      "diff", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--"};
  std::vector<std::string> asked = question;
  std::string changed;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].status != 'A') asked.push_back(changes[i].path);
    bytes += changes[i].path.size() + 1;
    const bool full = bytes > kMostArguments || i + 1 == changes.size();
    if (!full || asked.size() == question.size()) continue;
    std::string names = TRY(git_.ask(place, asked));
    for (std::size_t start = 0; start < names.size(); start = names.find('\0', start) + 1)
      append(changed, names.substr(start, names.find('\0', start) - start));
    asked = question;
    bytes = 0;
  }
  if (changed.empty()) return {};
  return fail(kStage, shown(tree.name), "changes files that you changed, too: " + changed,
              "commit or stash what you changed in the same files");
}

Status Worktrees::apply(const Worktree& tree, const WorktreeMerge& merge) const {
  if (merge.from == merge.to) return {};
  const std::vector<TreeChange> changes = TRY(changes_of(merge.from, merge.to));
  TRY(check_nothing_is_there(tree, changes));
  TRY(check_as_committed(tree, merge, changes));
  (void)git_.run(main_, {"update-index", "-q", "--refresh", "--ignore-submodules"});
  // First in vain, to see that no change of the user's stands in the way.
  const std::vector<std::string> move = {"-m", "-u", "--no-recurse-submodules", merge.from, merge.to};
  std::vector<std::string> in_vain = {"read-tree", "-n"};
  in_vain.insert(in_vain.end(), move.begin(), move.end());
  Result<std::string> tried = git_.ask(main_, in_vain);
  if (!tried)
    return fail(kStage, shown(tree.name), tried.error().what, "commit or stash what you changed in the same files");
  TRY(git_.ask(main_, {"update-ref", "-m", "oncelatch worktree apply: " + tree.name, "HEAD", merge.to, merge.from}));
  std::vector<std::string> really = {"read-tree"};
  really.insert(really.end(), move.begin(), move.end());
  Result<std::string> done = git_.ask(main_, really);
  if (done) return {};
  (void)git_.ask(main_, {"update-ref", "-m", "oncelatch worktree apply: undone", "HEAD", merge.from, merge.to});
  return Failure(done.error());
}

Result<WorktreeMerge> Worktrees::prepare(const Worktree& tree, const WorktreeState& state) const {
  if (state.uncommitted)
    return fail(kStage, shown(tree.name), "has changes that aren't committed",
                "oncelatch worktree apply --commit " + tree.name);
  const std::string head = TRY(git_.ask(main_, {"rev-parse", "-q", "--verify", "HEAD^{commit}"}));
  Result<std::string> branch = git_.ask(main_, {"symbolic-ref", "-q", "HEAD"});
  if (!branch) return fail(kStage, shown(main_.work_tree), "no branch is checked out", "git switch BRANCH");
  if (*branch == tree.reference())
    return fail(kStage, shown(tree.name), "is what is checked out here", "start in the checkout that is to have it");
  if (state.base == state.tip) return WorktreeMerge{head, head};
  return WorktreeMerge{head, state.base == head ? state.tip : TRY(merge(tree, state, head))};
}

}  // namespace oncelatch::launcher
