// What the workspace guard lets be made and changed: the decision about one name, apart from how it is done
// (sandbox/broker.h). Names are rows of sandbox/guarded_names.h; what makes a directory a repository is looked up.
//
//   GuardRules rules;
//   if (!rules.add("/home/u/project", true)) return too_many();
//   if (rules.tree_of("/home/u/project/src") == nullptr) …          // the caller's own: private directories
//   if (rules.judge_making("/home/u/project/.git/hooks/x", Making::file) == Ruling::refused) return -EACCES;
//
// Paths are real ones, absolute and clean. Ownership: copies those of the trees. Threads: one. Failure: false where
// there is no room; a path that is too long to be looked up is refused. After fork: safe; freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace oncelatch::sandbox {

enum class Making : std::uint8_t {
  file,           // also a pipe, a socket, or one more name of a file
  directory,      // an empty one
  symbolic_link,  // names below it are those of what it leads to
  tree            // a directory that holds something: what lies below gets a new name, too
};
struct GuardedName;

enum class Ruling : std::uint8_t {
  allowed,
  held,  // a decision from outside is needed
  refused
};
constexpr Ruling graver(Ruling one, Ruling other) {
  return one > other ? one : other;
}
// Which names are held; the others of those rows are allowed.
enum class Held : std::uint8_t { none, names, names_and_builds };

class GuardRules {
 public:
  struct Tree {
    const char* path;
    unsigned size;
    bool guarded;  // false: every name is free, but the kernel can't tell it from a tree that lies below
    bool git_directory;
    bool shared_only;
  };
  // `git_directory`: names in it are git's, whatever of a repository is moved away meanwhile.
  bool add(const char* path, bool guarded, bool git_directory = false);
  // Of this git directory only the reference ("refs/heads/topic") may move: the others, HEAD and what is packed stay.
  bool keep_other_branches(const char* git_directory, const char* reference);
  // In this git directory only what all worktrees share is made or changed: not the main checkout's own files, nor
  // those of the worktrees that are named. What is a tree of its own has rules of its own.
  void keep_unshared(const char* git_directory);
  bool keep_worktree(const char* worktrees, const char* name);
  void hold(Held held) { held_ = held; }
  // The deepest that holds the path, or null.
  [[nodiscard]] const Tree* tree_of(const char* path) const;
  [[nodiscard]] Ruling judge_making(const char* path, Making making) const;
  // A symbolic link with this text.
  [[nodiscard]] Ruling judge_linking(const char* path, const char* text) const;
  // Writing to what exists, moving it, or giving it another name.
  [[nodiscard]] Ruling judge_changing(const char* path) const;
  // What moves gets its new name, and so does what lies below.
  [[nodiscard]] Ruling judge_moving(const char* from, const char* to, Making making) const;
  // "config.lock" beside a submodule's settings: git makes it and moves it over them, also where they stay the same.
  // Nobody reads it under this name.
  [[nodiscard]] bool is_settings_lock(const char* path) const;
  // A file of a linked worktree's own directory, REPOSITORY/worktrees/NAME, which no worktree has yet.
  [[nodiscard]] bool is_of_new_worktree(const char* path) const;
  // Whether a worktree's `.git` may stand at this path: a directory where nothing has a meaning of its own.
  [[nodiscard]] bool may_hold_worktree(const char* path) const;

 private:
  [[nodiscard]] const char* guarded_part(const char* path) const;
  [[nodiscard]] bool governs(const char* path, const char* part, bool below) const;
  [[nodiscard]] bool holds_pointers(const char* path) const;
  [[nodiscard]] bool leads_to_tree(const char* path) const;
  [[nodiscard]] bool is_of_another_checkout(const char* path, const char* part) const;
  [[nodiscard]] bool is_named_by_commit(const char* path, const char* part) const;
  [[nodiscard]] bool is_in_git_directory(const char* path) const;
  [[nodiscard]] bool is_of_worktree(const char* path, std::size_t& repository_size) const;
  [[nodiscard]] bool completes_repository(const char* path, const char* part) const;
  [[nodiscard]] bool keeps(const char* path, Making making) const;
  const char* copy(const char* text);
  [[nodiscard]] bool may_be_held(const char* path) const;
  [[nodiscard]] Ruling judge_name(const char* path, const GuardedName* row) const;
  const char* git_directory_ = nullptr;
  const char* reference_ = nullptr;
  static constexpr unsigned kMostTrees = 64;
  Tree trees_[kMostTrees] = {};
  unsigned count_ = 0;
  static constexpr unsigned kMostWorktrees = 64;
  const char* worktrees_[kMostWorktrees] = {};  // others', by their path
  unsigned worktree_count_ = 0;
  Held held_ = Held::none;
  char text_[32 * 1024] = {};
  unsigned used_ = 0;
};

}  // namespace oncelatch::sandbox
