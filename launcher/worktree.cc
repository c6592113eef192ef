#include "launcher/worktree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium/crypto_hash_sha256.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <climits>

#include "base/beneath.h"
#include "base/digits.h"
#include "base/untrusted.h"
#include "launcher/after_run.h"
#include "launcher/session_directory.h"
#include "launcher/supervisor.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "worktree";
constexpr std::size_t kMostEntries = 4096;  // worktrees of one repository
constexpr std::size_t kMostText = std::size_t{64} << 10;

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> names;
  DIR* stream = ::opendir(directory.c_str());
  if (stream == nullptr) return names;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && names.size() < kMostEntries) names.push_back(name);
  }
  ::closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

// Readable, and another one for another place.
std::string repository_id(const std::string& common) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, reinterpret_cast<const unsigned char*>(common.data()), common.size());
  std::string place = common.ends_with("/.git") ? common.substr(0, common.size() - 5) : common;
  std::string id = place.substr(place.rfind('/') + 1).substr(0, 40);
  for (char& one : id)
    if (one != '-' && one != '_' && std::isalnum(static_cast<unsigned char>(one)) == 0) one = '-';
  id += '-';
  for (std::size_t i = 0; i < 6; ++i) id += hexadecimal(digest[i], 2);
  return id;
}

Status make_all(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(kStage, shown(part), errno, {}, "mkdir");
    if (slash == std::string::npos) break;
  }
  const Fd directory = TRY(open_directory(path));
  return check_private_directory(directory.get(), shown(path));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// One of `git diff-tree -r -z --raw`: ":100644 120000 OLD NEW M", then the path.
struct Change {
  std::string path;
  mode_t mode = 0;
  std::string before, after;  // blobs
  char status = 0;
};

std::vector<Change> parse_changes(const std::string& text) {
  std::vector<Change> changes;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\0', start), text.size());
    const std::size_t last = std::min(text.find('\0', end + 1), text.size());
    const std::string head = text.substr(start, end - start);
    constexpr std::size_t kModes = 15;  // ":100644 100644 "
    const std::size_t middle = head.find(' ', kModes);
    if (head.size() < kModes || end == text.size() || middle == std::string::npos) break;
    Change one;
    one.path = text.substr(end + 1, last - end - 1);
    std::from_chars(head.data() + 8, head.data() + 14, one.mode, 8);
    const std::size_t behind = head.find(' ', middle + 1);
    one.before = head.substr(kModes, middle - kModes);
    one.after = head.substr(middle + 1, behind - middle - 1);
    one.status = behind + 1 < head.size() ? head[behind + 1] : '?';
    changes.push_back(std::move(one));
    start = last + 1;
  }
  return changes;
}

constexpr mode_t kGitLink = 0160000;

}  // namespace

Status check_worktree_name(const std::string& name) {
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  constexpr std::size_t kLongest = 64;
  const bool fine = !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), letter) &&
                    name[0] != '.' && name[0] != '-' && !name.ends_with(".") && name.find("..") == std::string::npos &&
                    !name.ends_with(".lock") && !name.ends_with(".index");
  if (fine) return {};
  return fail(kStage, shown(name), "no name for a branch and a directory",
              "use letters, digits, - and _, at most 64 of them");
}

Result<Worktrees> Worktrees::open(const std::string& directory, const std::vector<std::string>& environment) {
  const HostGit look = TRY(HostGit::open(environment, {}));
  Result<std::string> told =
      look.ask({.git_dir = {}, .common = {}, .work_tree = {}, .index = {}, .directory = directory},
               {"rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"});
  if (!told)
    return fail(kStage, shown(directory), told.error().what,
                "start in a checkout of a git repository, or name it with --workspace DIR");
  const std::vector<std::string> lines = lines_of(*told);
  if (lines.size() != 3) return fail(kStage, shown(directory), "git tells no single place of its repository");
  const std::string record = TRY(audit_path(environment));
  const std::string root = record.substr(0, record.rfind('/')) + "/worktrees/" + repository_id(lines[1]);
  TRY(make_all(root));
  Worktrees all(TRY(HostGit::open(environment, {lines[1], lines[2], root})));
  all.main_ = {.git_dir = lines[0], .common = lines[1], .work_tree = lines[2], .index = {}, .directory = {}};
  all.root_ = root;
  return all;
}

// By what the repository says of it; the worktree's own .git file is the agent's.
std::string Worktrees::git_dir_of(const std::string& path) const {
  const std::string known = main_.common + "/worktrees";
  const Result<Fd> directory = open_directory(known);
  if (!directory) return {};
  for (const std::string& name : entries_of(known)) {
    Result<std::string> place = read_file(directory->get(), name + "/gitdir", 2 * PATH_MAX);
    Result<std::string> common = read_file(directory->get(), name + "/commondir", PATH_MAX);
    if (place && common && *place == path + "/.git\n" && *common == "../..\n") return known + "/" + name;
  }
  return {};
}

Worktree Worktrees::at(const std::string& name) const {
  Worktree tree{.name = name, .path = root_ + "/" + name, .git_dir = {}};
  tree.git_dir = git_dir_of(tree.path);
  return tree;
}

bool Worktrees::exists(const std::string& name) const {
  struct stat found {};
  return ::lstat((root_ + "/" + name).c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

std::vector<Worktree> Worktrees::all() const {
  std::vector<Worktree> list;
  for (const std::string& name : entries_of(root_))
    if (check_worktree_name(name) && exists(name)) list.push_back(at(name));
  return list;
}

Result<Worktree> Worktrees::find(const std::string& name) const {
  if (!name.empty()) {
    TRY(check_worktree_name(name));
    if (exists(name)) return at(name);
    return fail(kStage, shown(name), "no such worktree of this repository", "oncelatch worktree list");
  }
  std::vector<Worktree> list = all();
  if (list.size() == 1) return list[0];
  return fail(kStage, shown(main_.work_tree),
              list.empty() ? "has no worktree of oncelatch" : "has several worktrees: name one",
              list.empty() ? "oncelatch run kiro --worktree" : "oncelatch worktree list");
}

Result<Worktree> Worktrees::create(const std::string& wanted) const {
  const std::string name = wanted.empty() ? TRY(new_session_id()) : wanted;
  TRY(check_worktree_name(name));
  Worktree tree{.name = name, .path = root_ + "/" + name, .git_dir = {}};
  Result<std::string> head = git_.ask(main_, {"rev-parse", "-q", "--verify", "HEAD^{commit}"});
  if (!head) return fail(kStage, shown(main_.work_tree), "has no commit yet to start from", "commit something first");
  TRY(git_.ask(main_, {"worktree", "add", "--no-checkout", "--no-track", "-b", tree.branch(), tree.path, *head}));
  tree.git_dir = git_dir_of(tree.path);
  Result<std::string> filled =
      tree.git_dir.empty() ? Result<std::string>(fail(kStage, shown(tree.path), "git doesn't know it after making it"))
                           : git_.ask(place_of(tree), {"read-tree", "--reset", "-u", "--no-recurse-submodules", *head});
  if (filled) return tree;
  (void)remove(tree);
  return Failure(filled.error());
}

Result<Fd> Worktrees::lock(const Worktree& tree) const {
  const std::string path = tree.path + ".lock";
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail_errno(kStage, shown(path), errno, {}, "open");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(kStage, shown(tree.name), "a session works in it", "wait for its end, or name another");
  return lock;
}

GitPlace Worktrees::place_of(const Worktree& tree) const {
  return {.git_dir = tree.git_dir, .common = main_.common, .work_tree = tree.path, .index = {}, .directory = {}};
}

GitPlace Worktrees::snapshot_place(const Worktree& tree) const {
  GitPlace place = place_of(tree);
  place.index = tree.path + ".index";
  return place;
}

Result<WorktreeState> Worktrees::state(const Worktree& tree) const {
  if (tree.git_dir.empty())
    return fail(kStage, shown(tree.name), "the repository doesn't know it any more",
                "oncelatch worktree drop --force " + tree.name);
  WorktreeState state;
  const GitPlace place = snapshot_place(tree);
  state.tip = TRY(git_.ask(place, {"rev-parse", "-q", "--verify", tree.reference() + "^{commit}"}));
  TRY(git_.ask(place, {"read-tree", "-i", "-m", state.tip}));
  TRY(git_.ask(place, {"add", "--all"}));
  state.tree = TRY(git_.ask(place, {"write-tree"}));
  state.uncommitted = state.tree != TRY(git_.ask(place, {"rev-parse", state.tip + "^{tree}"}));
  Result<std::string> base = git_.ask(main_, {"merge-base", "HEAD", state.tip});
  if (!base)
    return fail(kStage, shown(tree.name), "has nothing in common with what is checked out here",
                "git log " + tree.branch());
  state.base = lines_of(*base)[0];
  const std::string count = TRY(git_.ask(main_, {"rev-list", "--count", state.base + ".." + state.tip}));
  std::from_chars(count.data(), count.data() + count.size(), state.commits);
  return state;
}

Result<std::string> Worktrees::diff(const WorktreeState& state) const {
  return git_.ask(main_, {"diff-tree", "-r", "-p", "-M", "--binary", "--no-color", "--no-ext-diff", "--no-textconv",
                          state.base, state.tree});
}

Result<AfterRunReport> Worktrees::effects(const WorktreeState& state) const {
  AfterRunReport seen;
  const std::string raw =
      TRY(git_.ask(main_, {"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", state.base, state.tree}));
  auto text_of = [&](const std::string& blob) {
    Result<std::string> text = git_.ask(main_, {"cat-file", "blob", blob});  // none for what wasn't there
    return text ? text->substr(0, kMostText) : std::string();
  };
  for (const Change& change : parse_changes(raw)) {
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

// First in vain, to see that no change of the user's stands in the way.
Status Worktrees::move_head(const Worktree& tree, const std::string& from, const std::string& to) const {
  (void)git_.run(main_, {"update-index", "-q", "--refresh", "--ignore-submodules"});
  Result<std::string> tried = git_.ask(main_, {"read-tree", "-n", "-m", "-u", "--no-recurse-submodules", from, to});
  if (!tried)
    return fail(kStage, shown(tree.name), tried.error().what, "commit or stash what you changed in the same files");
  TRY(git_.ask(main_, {"update-ref", "-m", "oncelatch worktree apply: " + tree.name, "HEAD", to, from}));
  Result<std::string> done = git_.ask(main_, {"read-tree", "-m", "-u", "--no-recurse-submodules", from, to});
  if (done) return {};
  (void)git_.ask(main_, {"update-ref", "-m", "oncelatch worktree apply: undone", "HEAD", from, to});
  return Failure(done.error());
}

Result<std::string> Worktrees::apply(const Worktree& tree, const WorktreeState& state) const {
  if (state.uncommitted)
    return fail(kStage, shown(tree.name), "has changes that aren't committed",
                "oncelatch worktree apply --commit " + tree.name);
  const std::string head = TRY(git_.ask(main_, {"rev-parse", "-q", "--verify", "HEAD^{commit}"}));
  Result<std::string> branch = git_.ask(main_, {"symbolic-ref", "-q", "HEAD"});
  if (!branch) return fail(kStage, shown(main_.work_tree), "no branch is checked out", "git switch BRANCH");
  if (*branch == tree.reference())
    return fail(kStage, shown(tree.name), "is what is checked out here", "start in the checkout that is to have it");
  if (state.base == state.tip) return head;
  const std::string to = state.base == head ? state.tip : TRY(merge(tree, state, head));
  TRY(move_head(tree, head, to));
  return to;
}

Status Worktrees::check_nothing_is_lost(const Worktree& tree) const {
  const WorktreeState now = TRY(state(tree));
  const std::string keep = "oncelatch worktree apply " + tree.name + ", or drop it with --force";
  if (now.uncommitted) return fail(kStage, shown(tree.name), "has changes that aren't committed", keep);
  const std::string alone = TRY(git_.ask(main_, {"rev-list", "--count", now.tip, "--not", "HEAD",
                                                 "--exclude=" + tree.branch(), "--branches", "--remotes", "--tags"}));
  if (alone == "0") return {};
  return fail(kStage, shown(tree.name), "has " + alone + (alone == "1" ? " commit" : " commits") + " of its own", keep);
}

Status Worktrees::remove(const Worktree& tree) const {
  const Fd root = TRY(open_directory(root_));
  TRY(remove_tree(root.get(), tree.name));
  TRY(remove_tree(root.get(), tree.name + ".index"));
  if (!tree.git_dir.empty()) {
    const Fd known = TRY(open_directory(main_.common + "/worktrees"));
    TRY(remove_tree(known.get(), tree.git_dir.substr(tree.git_dir.rfind('/') + 1)));
  }
  if (git_.ask(main_, {"rev-parse", "-q", "--verify", tree.reference()}))
    TRY(git_.ask(main_, {"update-ref", "--no-deref", "-d", tree.reference()}));
  return remove_tree(root.get(), tree.name + ".lock");
}

Status Worktrees::drop(const Worktree& tree, bool force) const {
  if (!force) TRY(check_nothing_is_lost(tree));
  return remove(tree);
}

}  // namespace oncelatch::launcher
