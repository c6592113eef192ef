#include "sandbox/guard_rules.h"

#include <asm/errno.h>
#include <linux/fcntl.h>

#include <cstring>

#include "sandbox/guarded_names.h"
#include "sandbox/spelling.h"
#include "sandbox/syscall.h"

namespace oncelatch::sandbox {

namespace {

constexpr unsigned kMostPathBytes = 4096;

// A path that grows at its end.
class LongPath {
 public:
  // Of `path` its first `size` bytes, `name` behind them.
  LongPath(const char* path, std::size_t size, const char* name) {
    const std::size_t more = std::strlen(name);
    if (size + more + 2 > sizeof text_) return;
    std::memcpy(text_, path, size);
    text_[size] = '/';
    std::memcpy(text_ + size + 1, name, more + 1);
    fits_ = true;
  }
  [[nodiscard]] const char* c_str() const { return fits_ ? text_ : ""; }
  // Itself, not what a link leads to; -errno where it can't be found.
  [[nodiscard]] long look() const {
    constexpr int kPresent = 0;  // F_OK
    return fits_ ? sys::call(__NR_faccessat2, AT_FDCWD, text_, kPresent, AT_SYMLINK_NOFOLLOW) : -ENAMETOOLONG;
  }

 private:
  char text_[kMostPathBytes + 256];
  bool fits_ = false;
};

const char* last_component(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The component before the last one of `relative`, which begins at `last`.
const char* last_but_one(const char* relative, const char* last) {
  const char* at = last - 1;
  while (at != relative && at[-1] != '/') --at;
  return at;
}

struct Directory {
  const char* path;
  std::size_t size;
  [[nodiscard]] bool holds(const char* name) const { return LongPath(path, size, name).look() == 0; }
  // What can't be looked up may be there: whoever has the directory open can close those above it.
  [[nodiscard]] bool may_hold(const char* name) const {
    const long rc = LongPath(path, size, name).look();
    return rc != -ENOENT && rc != -ENOTDIR;
  }
  // As git's is_git_directory(): with commondir, objects and refs are elsewhere.
  [[nodiscard]] bool is_repository() const {
    return may_hold("HEAD") && ((may_hold("objects") && may_hold("refs")) || may_hold("commondir"));
  }
};

// Some file systems take other case for the same name.
bool same_letter(char one, char other) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return lower(one) == lower(other);
}

// What stands behind `front` and a slash; null: it doesn't begin so.
const char* behind(const char* path, const char* front) {
  for (; *front != 0; ++front, ++path)
    if (!same_letter(*path, *front)) return nullptr;
  return *path == '/' ? path + 1 : nullptr;
}

bool same(const char* one, const char* other) {
  for (; *one != 0 && *other != 0; ++one, ++other)
    if (!same_letter(*one, *other)) return false;
  return *one == *other;
}

// Written into a file, every program reads the same out of it: git cuts off ends that others leave.
bool is_one_line(const char* path) {
  for (; *path != 0; ++path)
    if (const auto byte = static_cast<unsigned char>(*path); byte < ' ' || byte == 0x7f) return false;
  return true;
}

// What git would follow or run, in a directory that is a repository by itself; with `below` also what holds that.
bool governs_repository(const char* path, const char* relative, bool below) {
  for (const char* at = relative;; ++at) {
    if (is_refused_in_git_directory(at, below) &&
        Directory{path, static_cast<std::size_t>(at - path - 1)}.is_repository())
      return true;
    at = component_end(at);
    if (*at == 0) return false;
  }
}

}  // namespace

// Null where there is no room.
const char* GuardRules::copy(const char* text) {
  const std::size_t size = std::strlen(text) + 1;
  if (used_ + size > sizeof text_) return nullptr;
  char* place = text_ + used_;
  std::memcpy(place, text, size);
  used_ += static_cast<unsigned>(size);
  return place;
}

bool GuardRules::add(const char* path, bool guarded, bool git_directory) {
  const char* place = count_ == kMostTrees ? nullptr : copy(path);
  if (place == nullptr) return false;
  trees_[count_++] = {place, static_cast<unsigned>(std::strlen(path)), guarded, git_directory, false};
  return true;
}

void GuardRules::keep_unshared(const char* git_directory) {
  for (unsigned i = 0; i < count_; ++i)
    if (std::strcmp(trees_[i].path, git_directory) == 0) trees_[i].shared_only = true;
}

bool GuardRules::keep_worktree(const char* worktrees, const char* name) {
  const LongPath path(worktrees, std::strlen(worktrees), name);
  const char* place = worktree_count_ == kMostWorktrees ? nullptr : copy(path.c_str());
  if (place == nullptr) return false;
  worktrees_[worktree_count_++] = place;
  return true;
}

// gitrepository-layout(5): what is looked up in $GIT_COMMON_DIR. Collecting garbage locks every HEAD, and shortens
// every log.
bool GuardRules::is_of_another_checkout(const char* path, const char* part) const {
  constexpr const char* kShared[] = {"objects",         "refs",        "packed-refs", "packed-refs.lock",
                                     "packed-refs.new", "lfs",         "gc.pid",      "gc.pid.lock",
                                     "gc.log",          "gc.log.lock", "shallow",     "shallow.lock",
                                     "worktrees",       "rr-cache",    "info",        "modules"};
  if (!tree_of(path)->shared_only) return false;
  for (unsigned i = 0; i < worktree_count_; ++i) {
    const std::size_t size = std::strlen(worktrees_[i]);
    if (std::strncmp(path, worktrees_[i], size) != 0 || (path[size] != 0 && path[size] != '/')) continue;
    const char* rest = path[size] == 0 ? "" : path + size + 1;
    return std::strcmp(rest, "HEAD.lock") != 0 && behind(rest, "logs") == nullptr;
  }
  if (std::strcmp(part, "HEAD.lock") == 0 || std::strcmp(part, "logs") == 0 || behind(part, "logs") != nullptr)
    return false;
  for (const char* name : kShared)
    if (std::strcmp(part, name) == 0 || behind(part, name) != nullptr) return false;
  return true;
}

bool GuardRules::keep_other_branches(const char* git_directory, const char* reference) {
  git_directory_ = copy(git_directory);
  reference_ = copy(reference);
  return git_directory_ != nullptr && reference_ != nullptr;
}

namespace {

// What git itself has in a git directory: its messages and pseudo references are in capitals. Another name would be
// taken for a reference before those in refs/.
bool is_gits_own_name(const char* rest) {
  constexpr const char* kNames[] = {"index",       "refs",         "objects",     "logs",       "info",   "modules",
                                    "worktrees",   "lfs",          "rr-cache",    "hooks",      "config", "branches",
                                    "description", "rebase-merge", "shallow",     "sequencer",  "gc",     "packed-refs",
                                    "annex",       "rebase-apply", "sharedindex", "next-index", "gitk"};
  const char* at = rest;
  while ((*at >= 'A' && *at <= 'Z') || *at == '_') ++at;
  if (at != rest) return *at == 0 || std::strcmp(at, ".lock") == 0;
  for (const char* name : kNames) {
    const std::size_t size = std::strlen(name);
    const char end = std::strncmp(rest, name, size) == 0 ? rest[size] : 'x';
    if (end == 0 || end == '/' || end == '.' || (end == '-' && std::strcmp(name, "next-index") == 0)) return true;
  }
  return false;
}

}  // namespace

// gitrepository-layout(5). A lock beside HEAD or packed-refs is made and removed also where nothing comes of it.
bool GuardRules::keeps(const char* path, Making making) const {
  if (git_directory_ == nullptr) return false;
  const char* rest = behind(path, git_directory_);
  if (rest == nullptr) return false;
  if (const char* worktree = behind(rest, "worktrees"); worktree != nullptr) {
    rest = component_end(worktree);
    if (*rest == 0) return false;  // the names of worktrees are others' rules
    ++rest;
  }
  const bool directory = making == Making::directory;
  if (!is_gits_own_name(rest)) return true;
  if (same(rest, "logs")) return !directory;
  if (const char* log = behind(rest, "logs"); log != nullptr) rest = same(log, "HEAD") ? "" : log;
  if (same(rest, "HEAD") || same(rest, "packed-refs")) return true;
  if (behind(rest, "reftable") != nullptr || same(rest, "reftable")) return true;
  if (!same(rest, "refs") && behind(rest, "refs") == nullptr) return false;
  const std::size_t size = std::strlen(reference_);
  const bool own = making == Making::file && std::strncmp(rest, reference_, size) == 0 &&
                   (rest[size] == 0 || same(rest + size, ".lock"));
  return !own && !(directory && behind(reference_, rest) != nullptr);
}

const GuardRules::Tree* GuardRules::tree_of(const char* path) const {
  const Tree* deepest = nullptr;
  for (unsigned i = 0; i < count_; ++i) {
    const Tree& tree = trees_[i];
    if (std::strncmp(path, tree.path, tree.size) != 0 || (path[tree.size] != 0 && path[tree.size] != '/')) continue;
    if (deepest == nullptr || tree.size > deepest->size) deepest = &tree;
  }
  return deepest;
}

// Behind the tree's name and a slash; null where names are free, and for the tree itself.
const char* GuardRules::guarded_part(const char* path) const {
  const Tree* tree = tree_of(path);
  if (tree == nullptr || !tree->guarded || path[tree->size] == 0) return nullptr;
  return path + tree->size + 1;
}

bool GuardRules::may_be_held(const char* path) const {
  const char* part = held_ == Held::none ? nullptr : guarded_part(path);
  return part != nullptr && !is_never_held(part) && !is_git_directory_name(last_component(tree_of(path)->path));
}

Ruling GuardRules::judge_name(const char* path, const GuardedName* row) const {
  if (row == nullptr) return Ruling::allowed;
  if (row->guard == Guard::refused) return Ruling::refused;
  const bool held =
      row->guard == Guard::held || (row->guard == Guard::held_if_strict && held_ == Held::names_and_builds);
  return held && may_be_held(path) ? Ruling::held : Ruling::allowed;
}

// Whether git would follow or run it, or what lies below it.
bool GuardRules::governs(const char* path, const char* part, bool below) const {
  return (tree_of(path)->git_directory && is_refused_in_git_directory(part, below)) ||
         governs_repository(path, part, below);
}

// By its name, or by a directory above it that is a repository by itself.
bool GuardRules::is_in_git_directory(const char* path) const {
  const char* part = guarded_part(path);
  if (part == nullptr) return false;
  if (tree_of(path)->git_directory || lies_in_git_directory(part)) return true;
  for (const char* at = part; *at != 0; at = *at == '/' ? at + 1 : at) {
    if (Directory{path, static_cast<std::size_t>(at - path - 1)}.is_repository()) return true;
    at = component_end(at);
  }
  return false;
}

// The last piece that makes its directory a repository. That of a `.git` is one by its name, and guarded by that; any
// other in it could be prepared there and brought out. A linked worktree's own directory is one by its commondir, which
// nobody makes inside; but that can be removed, and without it the directory is no repository.
bool GuardRules::completes_repository(const char* path, const char* part) const {
  const char* name = last_component(path);
  const RepositoryPart piece = repository_part(name);
  if (piece == RepositoryPart::none) return false;
  const Directory parent{path, static_cast<std::size_t>(name - path - 1)};
  const bool is_known = name == part ? tree_of(path)->git_directory : is_git_directory_name(last_but_one(part, name));
  if (is_known || parent.holds(name)) return false;
  std::size_t size = 0;
  const bool linked = is_of_worktree(path, size);
  const bool head = piece == RepositoryPart::head || parent.may_hold("HEAD");
  const bool objects = piece == RepositoryPart::objects || parent.may_hold("objects");
  const bool refs = piece == RepositoryPart::refs || parent.may_hold("refs");
  const bool elsewhere = piece == RepositoryPart::common_directory || (!linked && parent.may_hold("commondir"));
  return head && ((objects && refs) || elsewhere);
}

// In a git directory itself, or a linked worktree's own, as an object is called. Git writes an object's name into what
// a reference names, and that may be "commondir": settings and hooks would be read from a directory of that name.
bool GuardRules::is_named_by_commit(const char* path, const char* part) const {
  const char* name = last_component(path);
  std::size_t size = 0;
  for (const char* at = name; *at != 0; ++at, ++size)
    if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f') || (*at >= 'A' && *at <= 'F'))) return false;
  if (size != 40 && size != 64) return false;
  const bool in_git = name == part ? tree_of(path)->git_directory : is_git_directory_name(last_but_one(part, name));
  std::size_t repository = 0;
  return in_git || is_of_worktree(path, repository) ||
         Directory{path, static_cast<std::size_t>(name - path - 1)}.is_repository();
}

// Git on the host writes through a link that lies among its own files: nobody makes one there.
Ruling GuardRules::judge_making(const char* path, Making making) const {
  const char* part = guarded_part(path);
  if (part == nullptr) return Ruling::allowed;
  const bool below = making == Making::symbolic_link || making == Making::tree;
  Ruling ruling = judge_name(path, guarded_name(part));
  if (below) ruling = graver(ruling, judge_name(path, guarded_name_below(part)));
  if (ruling == Ruling::refused || is_of_another_checkout(path, part)) return Ruling::refused;
  const bool link_of_git = making == Making::symbolic_link && is_in_git_directory(path);
  const bool refused = link_of_git || is_named_by_commit(path, part) || keeps(path, making) ||
                       completes_repository(path, part) || governs(path, part, below);
  return refused ? Ruling::refused : ruling;
}

// Nobody was asked about names where it leads, perhaps.
Ruling GuardRules::judge_linking(const char* path, const char* text) const {
  const Ruling ruling = judge_making(path, Making::symbolic_link);
  return may_be_held(path) && is_never_held(text) ? graver(ruling, Ruling::held) : ruling;
}

// Moved, what lies below would have other names than those that the rules are about.
bool GuardRules::leads_to_tree(const char* path) const {
  const std::size_t size = std::strlen(path);
  const auto holds = [&](const char* place) { return std::strncmp(place, path, size) == 0 && place[size] == '/'; };
  for (unsigned i = 0; i < count_; ++i)
    if (holds(trees_[i].path)) return true;
  return git_directory_ != nullptr && (holds(git_directory_) || std::strcmp(path, git_directory_) == 0);
}

Ruling GuardRules::judge_changing(const char* path) const {
  const char* part = guarded_part(path);
  if (part == nullptr) return Ruling::allowed;
  const bool kept = keeps(path, Making::file) || is_of_another_checkout(path, part);
  return kept || governs(path, part, false) ? Ruling::refused : judge_name(path, guarded_name(part));
}

bool GuardRules::is_settings_lock(const char* path) const {
  const char* part = guarded_part(path);
  const char* last = last_component(path);
  if (part == nullptr || std::strcmp(last, "config.lock") != 0) return false;
  const bool in_git = tree_of(path)->git_directory || lies_in_git_directory(part);
  const Directory parent{path, static_cast<std::size_t>(last - path - 1)};
  return in_git && std::strstr(part - 1, "/modules/") != nullptr && parent.is_repository() && parent.holds("config");
}

// By name; the size of the repository's own path.
bool GuardRules::is_of_worktree(const char* path, std::size_t& repository_size) const {
  const char* part = guarded_part(path);
  const char* last = last_component(path);
  if (part == nullptr || last == part) return false;
  const char* name = last_but_one(part, last);
  if (name == part) return false;
  const char* worktrees = last_but_one(part, name);
  if (behind(worktrees, "worktrees") != name) return false;
  const bool known =
      worktrees == part ? tree_of(path)->git_directory : is_git_directory_name(last_but_one(part, worktrees));
  repository_size = static_cast<std::size_t>(worktrees - path - 1);
  return known;
}

bool GuardRules::is_of_new_worktree(const char* path) const {
  std::size_t size = 0;
  if (!is_of_worktree(path, size) || !is_one_line(path)) return false;
  const char* name = last_but_one(guarded_part(path), last_component(path));
  if (*name == '.') return false;  // git makes none, and lists of worktrees leave them out
  const Directory repository{path, size};
  const Directory own{path, static_cast<std::size_t>(last_component(path) - path - 1)};
  if (!repository.is_repository() || !repository.holds("config") || own.may_hold("commondir") || own.may_hold("gitdir"))
    return false;
  const LongPath head(path, own.size, "HEAD");
  return judge_making(head.c_str(), Making::file) == Ruling::allowed;  // not where the other branches are kept
}

bool GuardRules::may_hold_worktree(const char* path) const {
  const char* last = last_component(path);
  const LongPath file(path, static_cast<std::size_t>(last - path - 1), "x");
  return guarded_part(path) != nullptr && last != guarded_part(path) && is_one_line(path) &&
         !is_in_git_directory(path) && judge_making(file.c_str(), Making::file) == Ruling::allowed;
}

// What says where a linked worktree's repository is says it from where it lies: elsewhere it would name another one.
bool GuardRules::holds_pointers(const char* path) const {
  const char* part = guarded_part(path);
  if (part == nullptr) return false;
  const std::size_t size = std::strlen(path);
  if (Directory{path, size}.holds("commondir")) return true;
  const bool in_git = tree_of(path)->git_directory || lies_in_git_directory(part);
  return in_git && same(last_component(path), "worktrees");
}

// What leaves a place where names are never held has some, perhaps, that nobody was asked about. A directory goes
// neither into a git directory, since it may hold links, nor out of one, since it may be a repository with a work tree
// beside it.
Ruling GuardRules::judge_moving(const char* from, const char* to, Making making) const {
  const Ruling ruling = judge_making(to, making);
  if (making == Making::file || ruling == Ruling::refused) return ruling;
  if (leads_to_tree(from)) return Ruling::refused;
  const bool crosses = making == Making::tree && is_in_git_directory(from) != is_in_git_directory(to);
  if (crosses || holds_pointers(from)) return Ruling::refused;
  return may_be_held(to) && !may_be_held(from) ? Ruling::held : ruling;
}

}  // namespace oncelatch::sandbox
