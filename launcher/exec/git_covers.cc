#include "launcher/exec/git_covers.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/untrusted.h"
#include "launcher/exec/cover_path.h"

namespace oncelatch::launcher {

namespace {

using sandbox::Cover;

// What of a repository's git directory would run on the host later.
constexpr const char* kProtected[] = {"hooks", "config", "config.worktree"};
// Git works in these, too: where the broker guards by names, they stay writable.
constexpr const char* kGuarded[] = {"info", "modules"};

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

// 0: nothing there. What we can't look up can't be looked up inside either; any other failure tells nothing.
Result<mode_t> mode_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return info.st_mode;
  if (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP) return mode_t{0};
  return fail_errno("workspace", shown(path), errno);
}

Result<bool> is_a(const std::string& path, mode_t type) {
  return (TRY(mode_of(path)) & S_IFMT) == type;
}

// A repository without a work tree is its own git directory.
Result<bool> is_bare_repository(const std::string& path) {
  return TRY(is_a(path + "/HEAD", S_IFREG)) && TRY(is_a(path + "/objects", S_IFDIR)) &&
         TRY(is_a(path + "/refs", S_IFDIR));
}

// Entries of a directory; more than `most` are a refusal.
Result<std::vector<std::string>> list_names(const std::string& directory, std::size_t most) {
  DIR* stream = ::opendir(directory.c_str());
  if (stream == nullptr) return fail_errno("workspace", shown(directory), errno == ENOTDIR ? ENOENT : errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(stream);
  if (names.size() > most)
    return fail("workspace", shown(directory), "holds more than " + std::to_string(most) + " worktrees",
                "git worktree prune, or git worktree remove");
  return names;
}

class Maker {
 public:
  Maker(const std::string& directory, const std::vector<std::string>& shown) : directory_(directory), shown_(shown) {}

  Result<std::vector<Cover>> make(bool always) {
    const bool bare = TRY(is_bare_repository(directory_));
    const std::string git = directory_ + "/.git";
    if (TRY(is_a(git, S_IFREG))) {
      protect(".git");
      return std::move(covers_);
    }
    if (!bare && !always && !TRY(is_a(git, S_IFDIR))) return std::move(covers_);
    const std::string prefix = bare ? "" : ".git/";
    for (const char* name : kProtected) protect(prefix + name);
    for (const char* name : kGuarded) add(cover_where_unguarded(directory_, prefix + name, shown_));
    TRY(protect_worktrees(prefix + "worktrees"));
    return std::move(covers_);
  }

 private:
  // What is there now must still be there when it is covered.
  void protect(const std::string& relative) { add(cover_path(directory_, relative, Cover::Kind::protect, shown_)); }
  void add(std::vector<Cover> covers) {
    for (Cover& cover : covers) covers_.push_back(std::move(cover));
  }

  // What tells git outside where a linked worktree's repository and settings are.
  Status protect_worktrees(const std::string& relative) {
    constexpr std::size_t kMostWorktrees = 32;
    Result<std::vector<std::string>> names = list_names(directory_ + "/" + relative, kMostWorktrees);
    if (!names && names.error().errno_value == ENOENT) return {};
    for (const std::string& name : TRY(std::move(names)))
      for (const char* file : {"commondir", "gitdir", "config.worktree"})
        if (TRY(is_a(directory_ + "/" + relative + "/" + name + "/" + file, S_IFREG)))
          protect(relative + "/" + name + "/" + file);
    return {};
  }

  const std::string& directory_;
  const std::vector<std::string>& shown_;
  std::vector<Cover> covers_;
};

}  // namespace

Result<std::vector<Cover>> git_covers(const std::string& directory, const std::vector<std::string>& shown,
                                      bool always) {
  return Maker(directory, shown).make(always);
}

}  // namespace oncelatch::launcher
