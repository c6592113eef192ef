#include "launcher/exec/git_covers.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/exec/cover_path.h"
#include "launcher/exec/git_settings.h"
#include "sandbox/guarded_names.h"

namespace oncelatch::launcher {

namespace {

using sandbox::Cover;

// What of a repository's git directory would run on the host later.
constexpr const char* kProtected[] = {"hooks", "config", "config.worktree"};
// Git works in these, too: where the broker guards by names, they stay writable.
constexpr const char* kGuarded[] = {"info", "modules"};

constexpr int kMostIncludes = 4;  // of one in another
constexpr std::size_t kMostSettings = std::size_t{1} << 20;

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

// A repository's own, or a linked worktree's.
bool is_git_directory(const std::string& path) {
  struct stat found {};
  return ::lstat((path + "/HEAD").c_str(), &found) == 0 &&
         (::lstat((path + "/objects").c_str(), &found) == 0 || ::lstat((path + "/commondir").c_str(), &found) == 0);
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

// Whatever can't be read, git can't either.
std::vector<NamedPath> named_in(const std::string& settings) {
  const std::size_t name = settings.rfind('/');
  Result<Fd> directory = open_directory(settings.substr(0, name));
  if (!directory) return {};
  const Result<std::string> text = read_file(directory->get(), settings.substr(name + 1), kMostSettings);
  return text ? paths_in_settings(*text) : std::vector<NamedPath>();
}

// Guarded by its name in every directory.
bool is_refused(const std::string& relative) {
  const sandbox::GuardedName* row = sandbox::guarded_name((relative + "/x").c_str());
  if (row == nullptr) row = sandbox::guarded_name(relative.c_str());
  return row != nullptr && row->guard == sandbox::Guard::refused;
}

// Without "." and "..", by its text.
std::string clean_path(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string part = path.substr(start, end - start);
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
    start = end + 1;
  }
  std::string clean;
  for (const std::string& part : parts) clean += "/" + part;
  return clean;
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
    for (const char* name : {"config", "config.worktree"})
      TRY(protect_named(directory_ + "/" + prefix + name, kMostIncludes));
    return std::move(covers_);
  }

 private:
  // What is there now must still be there when it is covered.
  void protect(const std::string& relative) { add(cover_path(directory_, relative, Cover::Kind::protect, shown_)); }
  void add(std::vector<Cover> covers) {
    for (Cover& cover : covers) covers_.push_back(std::move(cover));
  }

  // Where the settings say that hooks, attributes or more settings lie: in what is shown it's kept as they are.
  Status protect_named(const std::string& settings, int depth) {
    for (const NamedPath& one : named_in(settings)) {
      const bool by_settings = one.from == NamedPath::From::settings;
      for (const std::string& root : shown_) {
        if (!by_settings && one.path[0] != '/' && is_git_directory(root)) continue;  // no work tree
        const std::string base = by_settings ? settings.substr(0, settings.rfind('/')) : root;
        TRY(protect_path(one, clean_path(one.path[0] == '/' ? one.path : base + "/" + one.path), root, depth));
      }
    }
    return {};
  }

  Status protect_path(const NamedPath& one, const std::string& path, const std::string& root, int depth) {
    if (!path.starts_with(root + "/")) return {};
    const std::string relative = path.substr(root.size() + 1);
    if (TRY(mode_of(path)) == 0) {
      if (is_refused(relative)) return {};  // nobody makes it
      return fail(
          "workspace", shown(path),
          std::string("git takes ") + one.key + " from it, and it isn't there: whoever makes it chooses what git runs",
          std::string("make it, or git config --unset ") + one.key);
    }
    add(cover_path(root, relative, Cover::Kind::protect, shown_));
    return one.more_settings && depth > 0 ? protect_named(path, depth - 1) : Status();
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

namespace {

std::string relative_in(const std::string& settings, int depth) {
  for (const NamedPath& one : named_in(settings)) {
    const bool absolute = one.path[0] == '/';
    if (one.from == NamedPath::From::work_tree) {
      if (!absolute && !is_refused(clean_path("/" + one.path).substr(1))) return one.path;
      continue;
    }
    const std::string more = absolute ? one.path : settings.substr(0, settings.rfind('/') + 1) + one.path;
    if (std::string found = depth > 0 ? relative_in(more, depth - 1) : std::string(); !found.empty()) return found;
  }
  return {};
}

}  // namespace

std::string named_in_each_work_tree(const std::string& directory) {
  const std::string git = is_git_directory(directory) ? directory : directory + "/.git";
  std::string found = relative_in(git + "/config", kMostIncludes);
  return found.empty() ? relative_in(git + "/config.worktree", kMostIncludes) : found;
}

}  // namespace oncelatch::launcher
