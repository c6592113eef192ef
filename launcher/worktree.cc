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
#include <climits>

#include "base/beneath.h"
#include "base/digits.h"
#include "base/untrusted.h"
#include "launcher/git_files.h"
#include "launcher/session_directory.h"
#include "launcher/supervisor.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "worktree";
constexpr std::size_t kMostEntries = 4096;  // worktrees of one repository

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> names;
  DIR* stream = ::opendir(directory.c_str());
  if (stream == nullptr) return names;
  while (names.size() < kMostEntries) {
    const dirent* entry = ::readdir(stream);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
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

}  // namespace

Status check_worktree_name(const std::string& name) {
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  constexpr std::size_t kLongest = 64;
  const bool fine = !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), letter) &&
                    name[0] != '.' && name[0] != '-' && !name.ends_with(".") && name.find("..") == std::string::npos &&
                    !name.ends_with(".lock") && !name.ends_with(".own");
  if (fine) return {};
  return fail(kStage, shown(name), "no name for a branch and a directory",
              "use letters, digits, - and _, at most 64 of them");
}

Result<Worktrees> Worktrees::open(const std::string& directory, const std::vector<std::string>& environment) {
  const HostGit look = TRY(HostGit::open(environment, {}));
  GitPlace around;
  around.directory = directory;
  Result<std::string> told = look.ask(
      around, {"rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"});
  if (!told)
    return fail(kStage, shown(directory), told.error().what,
                "start in a checkout of a git repository, or name it with --workspace DIR");
  const std::vector<std::string> lines = lines_of(*told);
  if (lines.size() != 3) return fail(kStage, shown(directory), "git tells no single place of its repository");
  const std::string record = TRY(audit_path(environment));
  const std::string root = record.substr(0, record.rfind('/')) + "/worktrees/" + repository_id(lines[1]);
  TRY(make_all(root));
  GitPlace main;
  main.git_dir = lines[0];
  main.common = lines[1];
  main.work_tree = lines[2];
  return Worktrees({.main = main,
                    .root = root,
                    .own = TRY(HostGit::open(environment, {root})),
                    .shared = TRY(HostGit::open(environment, {main.common, root})),
                    .checkout = TRY(HostGit::open(environment, {main.work_tree, root}))});
}

// By what the repository says of it; the worktree's own .git file is the agent's.
std::string Worktrees::git_dir_of(const std::string& path) const {
  const std::string known = repository_.main.common + "/worktrees";
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
  Worktree tree;
  tree.name = name;
  tree.path = repository_.root + "/" + name;
  tree.git_dir = git_dir_of(tree.path);
  return tree;
}

bool Worktrees::exists(const std::string& name) const {
  struct stat found {};
  return ::lstat((repository_.root + "/" + name).c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

std::vector<Worktree> Worktrees::all() const {
  std::vector<Worktree> list;
  for (const std::string& name : entries_of(repository_.root))
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
  return fail(kStage, shown(repository_.main.work_tree),
              list.empty() ? "has no worktree of oncelatch" : "has several worktrees: name one",
              list.empty() ? "oncelatch run kiro --worktree" : "oncelatch worktree list");
}

Result<Worktree> Worktrees::create(const std::string& wanted) const {
  const std::string name = wanted.empty() ? TRY(new_session_id()) : wanted;
  TRY(check_worktree_name(name));
  Worktree tree;
  tree.name = name;
  tree.path = repository_.root + "/" + name;
  Result<std::string> head = repository_.shared.ask(repository_.main, {"rev-parse", "-q", "--verify", "HEAD^{commit}"});
  if (!head)
    return fail(kStage, shown(repository_.main.work_tree), "has no commit yet to start from", "commit something first");
  TRY(check_git_files({repository_.main.git_dir, repository_.main.common}, {tree.reference()}));
  TRY(repository_.shared.ask(
      repository_.main, {"worktree", "add", "--no-checkout", "--no-track", "-b", tree.branch(), tree.path, *head}));
  tree.git_dir = git_dir_of(tree.path);
  Result<std::string> filled =
      tree.git_dir.empty()
          ? Result<std::string>(fail(kStage, shown(tree.path), "git doesn't know it after making it"))
          : repository_.shared.ask(place_of(tree), {"read-tree", "--reset", "-u", "--no-recurse-submodules", *head});
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
  GitPlace place = repository_.main;
  place.git_dir = tree.git_dir;
  place.work_tree = tree.path;
  return place;
}

Result<WorktreeState> Worktrees::state(const Worktree& tree) const {
  return TRY(WorktreeWork::look(repository_, tree)).state();
}

Status Worktrees::check_nothing_is_lost(const Worktree& tree) const {
  const WorktreeState now = TRY(state(tree));
  const std::string keep = "oncelatch worktree apply " + tree.name + ", or drop it with --force";
  if (now.uncommitted) return fail(kStage, shown(tree.name), "has changes that aren't committed", keep);
  const std::string alone = TRY(
      repository_.shared.ask(repository_.main, {"rev-list", "--count", now.tip, "--not", "HEAD",
                                                "--exclude=" + tree.branch(), "--branches", "--remotes", "--tags"}));
  if (alone == "0") return {};
  return fail(kStage, shown(tree.name), "has " + alone + (alone == "1" ? " commit" : " commits") + " of its own", keep);
}

Status Worktrees::remove(const Worktree& tree) const {
  TRY(check_git_files({repository_.main.common}, {tree.reference()}));
  const Fd root = TRY(open_directory(repository_.root));
  TRY(remove_tree(root.get(), tree.name));
  TRY(remove_tree(root.get(), tree.name + ".own"));
  if (!tree.git_dir.empty()) {
    const Fd known = TRY(open_directory(repository_.main.common + "/worktrees"));
    TRY(remove_tree(known.get(), tree.git_dir.substr(tree.git_dir.rfind('/') + 1)));
  }
  if (repository_.shared.ask(repository_.main, {"rev-parse", "-q", "--verify", tree.reference()}))
    TRY(repository_.shared.ask(repository_.main, {"update-ref", "--no-deref", "-d", tree.reference()}));
  return remove_tree(root.get(), tree.name + ".lock");
}

Status Worktrees::drop(const Worktree& tree, bool force) const {
  if (!force) TRY(check_nothing_is_lost(tree));
  return remove(tree);
}

}  // namespace oncelatch::launcher
