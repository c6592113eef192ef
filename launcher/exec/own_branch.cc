#include "launcher/exec/own_branch.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/beneath.h"
#include "base/untrusted.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostHead = 1024;  // bytes of HEAD
constexpr std::size_t kMostKept = 256;
constexpr std::string_view kReference = "ref: ";
constexpr std::string_view kBranches = "refs/heads/";

Failure refused(const std::string& path, const std::string& what, const std::string& try_next) {
  return fail("workspace", escape_for_display(path, 400), "own-branch: " + what, try_next);
}

mode_t type_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & S_IFMT : 0;
}

// As git-check-ref-format(1), but for what needs no quoting anywhere.
bool is_branch(std::string_view name) {
  if (!name.starts_with(kBranches) || name.size() == kBranches.size() || name.back() == '/') return false;
  if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }))
    return false;
  for (std::string_view part : {"..", "//", "/.", ".lock/", "@{"})
    if (name.find(part) != std::string_view::npos) return false;
  return !name.ends_with(".lock") && name.find_first_of("~^:?*[\\") == std::string_view::npos;
}

Result<std::string> checked_out(const std::string& directory) {
  const Fd opened = TRY(open_directory(directory));
  std::string text = TRY(read_file(opened.get(), "HEAD", kMostHead));
  while (text.ends_with('\n')) text.pop_back();
  if (!text.starts_with(kReference))
    return refused(directory + "/HEAD", "no branch is checked out", "git switch BRANCH, or --git any");
  text.erase(0, kReference.size());
  if (!is_branch(text)) return refused(directory + "/HEAD", "names no branch", "git switch BRANCH, or --git any");
  return text;
}

// Names below `relative` that the own reference isn't below.
Status keep_others(const sandbox::OwnBranch& branch, const std::string& relative, std::vector<std::string>& kept) {
  DIR* stream = ::opendir((branch.git_directory + "/" + relative).c_str());
  if (stream == nullptr) return {};  // packed, or not there
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream))
    if (entry->d_name[0] != '.' && !std::string_view(entry->d_name).ends_with(".lock"))
      names.push_back(relative + "/" + entry->d_name);
  ::closedir(stream);
  for (const std::string& name : names) {
    if (name == branch.reference) continue;
    const bool leads_to_own = branch.reference.starts_with(name + "/");
    if (leads_to_own) TRY(keep_others(branch, name, kept));
    if (!leads_to_own) kept.push_back(name);
  }
  if (kept.size() > kMostKept)
    return refused(branch.git_directory, "more than 256 references that aren't packed", "git pack-refs --all");
  return {};
}

}  // namespace

Result<sandbox::OwnBranch> find_own_branch(const std::string& workspace, const Repository& repository) {
  const bool outside = !repository.directory.empty();
  const std::string common = outside ? repository.directory : workspace + "/.git";
  if (type_of(common) != S_IFDIR)
    return refused(workspace, "no repository of its own or outside", "--git any, or name the repository");
  if (type_of(common + "/reftable") != 0) return refused(common, "its references don't lie in files", "--git any");
  return sandbox::OwnBranch{common, TRY(checked_out(outside ? repository.own : common))};
}

Result<std::vector<std::string>> kept_references(const sandbox::OwnBranch& branch) {
  std::vector<std::string> kept;
  for (const char* name : {"HEAD", "packed-refs"})
    if (type_of(branch.git_directory + "/" + name) == S_IFREG) kept.emplace_back(name);
  DIR* worktrees = ::opendir((branch.git_directory + "/worktrees").c_str());
  while (const dirent* entry = worktrees == nullptr ? nullptr : ::readdir(worktrees)) {
    const std::string head = std::string("worktrees/") + entry->d_name + "/HEAD";
    if (entry->d_name[0] != '.' && type_of(branch.git_directory + "/" + head) == S_IFREG) kept.push_back(head);
  }
  if (worktrees != nullptr) ::closedir(worktrees);
  TRY(keep_others(branch, "refs", kept));
  return kept;
}

}  // namespace oncelatch::launcher
