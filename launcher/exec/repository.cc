#include "launcher/exec/repository.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/exec/workspace.h"
#include "sandbox/plan_checks.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostPointer = 4096;  // bytes of a file that names a directory
constexpr const char* kPointer = "gitdir: ";

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Of the object itself, not of what a link leads to; 0: nothing there.
mode_t type_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & S_IFMT : 0;
}

// The only line of a small file in a directory; empty where it is anything else.
std::string line_of(const std::string& directory, const std::string& name) {
  Result<Fd> opened = open_directory(directory);
  if (!opened) return {};
  Result<std::string> text = read_file(opened->get(), name, kMostPointer);
  if (!text) return {};
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  const bool line = text->find('\n') == std::string::npos && text->find('\0') == std::string::npos;
  return line ? *text : std::string();
}

// Real path of what a file in `directory` names; empty where that isn't there.
std::string named_in(const std::string& directory, const std::string& text) {
  if (text.empty()) return {};
  return real_path(text[0] == '/' ? text : directory + "/" + text);
}

// The work tree's root at or above a directory; empty: there is none.
std::string work_tree_of(const std::string& path) {
  for (std::string at = path; !at.empty(); at = parent_of(at))
    if (type_of(at + "/.git") != 0) return at;
  return {};
}

// What the pointer `.git` of a linked worktree leads to, by way of its own directory there. Empty where they don't
// agree as git-worktree(1) makes them: a submodule's does not either.
Repository linked(const std::string& root) {
  const std::string pointer = line_of(root, ".git");
  if (pointer.rfind(kPointer, 0) != 0) return {};
  const std::string own = named_in(root, pointer.substr(std::string(kPointer).size()));
  const std::string common = parent_of(parent_of(own));
  const bool in_place = !own.empty() && name_of(parent_of(own)) == "worktrees";
  if (!in_place || named_in(own, line_of(own, "commondir")) != common) return {};
  const std::string back = line_of(own, "gitdir");
  if (back.empty() || name_of(back) != ".git" || type_of(own + "/HEAD") != S_IFREG) return {};
  if (named_in(own, parent_of(back)) != root) return {};
  Repository found;
  found.directory = common;
  found.own = own;
  return found;
}

bool is_repository(const std::string& directory) {
  return type_of(directory + "/HEAD") == S_IFREG && type_of(directory + "/objects") == S_IFDIR &&
         type_of(directory + "/refs") == S_IFDIR;
}

// The work tree, its pointer or git directory, and where that leads.
std::vector<std::string> ways_to(const Repository& found, const std::string& root) {
  return {root, root + "/.git", found.directory, found.own};
}

// git's own question (safe.directory), asked of all that led there: whoever may only write beside somebody's files
// makes no repository of them, and whoever has the place of a removed worktree isn't taken for it.
bool belongs_here(const std::vector<std::string>& paths, const std::string& workspace) {
  struct stat here {};
  struct stat first {};
  if (::stat(workspace.c_str(), &here) != 0 || ::lstat(paths.front().c_str(), &first) != 0) return false;
  const auto is_its_own = [&](const std::string& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 && found.st_uid == first.st_uid;
  };
  const bool known = first.st_uid == ::geteuid() || first.st_uid == here.st_uid;
  return known && std::all_of(paths.begin(), paths.end(), is_its_own);
}

// The caller's by name and by account, and that of whom the workspace belongs to.
std::vector<std::string> homes_of(const std::string& workspace, const std::string& home) {
  std::vector<std::string> homes = {home, real_path(sandbox::account_of(::getuid()).home)};
  struct stat here {};
  if (::stat(workspace.c_str(), &here) == 0) homes.push_back(real_path(sandbox::account_of(here.st_uid).home));
  return homes;
}

bool may_be_shown(const std::string& path, const std::vector<std::string>& homes) {
  const auto is_outside = [&](const std::string& home) { return home.empty() || !is_or_contains(path, home); };
  return !sandbox::is_system_place(path) && !holds_others(path) && std::all_of(homes.begin(), homes.end(), is_outside);
}

}  // namespace

Repository find_repository(const std::string& workspace, const std::string& home) {
  Repository found;
  const std::string root = work_tree_of(workspace);
  const std::string git = root + "/.git";
  const mode_t type = root.empty() ? 0 : type_of(git);
  if (type == 0 || (root == workspace && type == S_IFDIR)) return found;
  const Repository told = type == S_IFREG   ? linked(root)
                          : type == S_IFDIR ? Repository{.directory = git, .own = git, .root = {}, .note = {}}
                                            : Repository();
  const std::string& directory = told.directory;
  if (!directory.empty() && is_or_contains(workspace, directory)) return found;
  const bool usable = !directory.empty() && is_repository(directory) && belongs_here(ways_to(told, root), workspace) &&
                      !is_or_contains(directory, workspace);
  const std::vector<std::string> homes = homes_of(workspace, home);
  const bool open = may_be_shown(directory, homes) && (root == workspace || may_be_shown(root, homes));
  if (usable && open) {
    found.directory = directory;
    found.own = told.own;
    if (root != workspace) found.root = root;
    return found;
  }
  found.note = "git isn't found inside: " + escape_for_display(git, 400);
  found.note += !usable ? " doesn't lead to a repository that names the workspace and is all yours or all its owner's"
                        : " belongs to a place that is never shown";
  if (root != workspace && may_be_shown(root, homes))
    found.note += "; --workspace " + escape_for_display(root, 400) + " takes the whole";
  return found;
}

std::vector<sandbox::Bind> repository_binds(const Repository& repository) {
  std::vector<sandbox::Bind> binds;
  if (repository.directory.empty()) return binds;
  const bool linked = repository.own != repository.directory;
  auto add = [&](const std::string& path, bool shared_only) {
    binds.push_back({.source = path,
                     .target = path,
                     .access = sandbox::Access::read_write,
                     .where_guarded = true,
                     .git_directory = true,
                     .shared_only = shared_only});
  };
  add(repository.directory, linked);
  if (linked) add(repository.own, false);
  return binds;
}

std::vector<std::string> worktree_pointers(const std::string& git_directory) {
  constexpr std::size_t kMost = 32;
  std::vector<std::string> pointers;
  DIR* stream = ::opendir((git_directory + "/worktrees").c_str());
  if (stream == nullptr) return pointers;
  while (const dirent* entry = pointers.size() == kMost ? nullptr : ::readdir(stream)) {
    if (entry->d_name[0] == '.') continue;
    const std::string own = git_directory + "/worktrees/" + entry->d_name;
    const std::string back = line_of(own, "gitdir");
    const std::string tree = name_of(back) == ".git" ? named_in(own, parent_of(back)) : std::string();
    if (!tree.empty() && linked(tree).own == own) pointers.push_back(tree + "/.git");
  }
  ::closedir(stream);
  return pointers;
}

}  // namespace oncelatch::launcher
