#include "launcher/exec/own_branch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

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

namespace {

constexpr std::size_t kMostReference = 4096;  // bytes

// What git writes into it: a commit's name and the line's end.
bool names_a_commit(const std::string& text) {
  if (text.size() != 41 && text.size() != 65) return false;
  return text.back() == '\n' && text.find_first_not_of("0123456789abcdef") == text.size() - 1;
}

}  // namespace

Result<OwnReference> OwnReference::remember(const sandbox::OwnBranch& branch) {
  OwnReference own;
  own.git_directory_ = branch.git_directory;
  own.reference_ = branch.reference;
  own.directory_ = TRY(open_directory(branch.git_directory));
  Result<std::string> text = read_file(own.directory_.get(), branch.reference, kMostReference);
  const std::string path = branch.git_directory + "/" + branch.reference;
  if (text && names_a_commit(*text)) own.before_ = *text;
  if (text && own.before_.empty())
    return refused(path, "doesn't name a commit", "git symbolic-ref shows what it names");
  if (!text && text.error().errno_value != ENOENT) return refused(path, text.error().what, "git fsck");
  return own;
}

std::string OwnReference::place() const {
  return git_directory_ + "/" + reference_.substr(0, reference_.rfind('/'));
}

Result<std::optional<HostEffect>> OwnReference::mend() const {
  const Result<std::string> now = read_file(directory_.get(), reference_, kMostReference);
  if (now ? names_a_commit(*now) : now.error().errno_value == ENOENT) return std::optional<HostEffect>();
  HostEffect effect{.path = git_directory_ + "/" + reference_,
                    .guard = "refused",
                    .kind = "git",
                    .reason = "was no commit's name any more: put back to what it was before",
                    .change = "changed",
                    .line = escape_for_display(now ? now->substr(0, now->find('\n')) : now.error().what, 160)};
  TRY(put_back());
  return std::optional<HostEffect>(std::move(effect));
}

// As git does, by way of the lock; one that is left is the session's.
Status OwnReference::put_back() const {
  const std::string path = git_directory_ + "/" + reference_;
  const std::string name = reference_.substr(reference_.rfind('/') + 1);
  const Fd parent =
      TRY(open_beneath(directory_.get(), reference_.substr(0, reference_.rfind('/')), O_RDONLY | O_DIRECTORY));
  TRY(remove_tree(parent.get(), name + ".lock"));
  if (before_.empty()) return remove_tree(parent.get(), name);
  Fd file = TRY(open_beneath(parent.get(), name + ".lock", O_WRONLY | O_CREAT | O_EXCL, 0644));
  TRY(write_all(file.get(), before_, path));
  struct stat above {};
  if (::geteuid() == 0 && (::fstat(parent.get(), &above) != 0 || ::fchown(file.get(), above.st_uid, above.st_gid) != 0))
    return fail_errno("workspace", escape_for_display(path, 400), errno, {}, "chown");
  if (rename_by(parent.get(), name + ".lock", parent.get(), name, 0) == 0) return {};
  TRY(remove_tree(parent.get(), name));  // a directory
  if (rename_by(parent.get(), name + ".lock", parent.get(), name, 0) == 0) return {};
  return fail_errno("workspace", escape_for_display(path, 400), errno, "git update-ref puts it back", "put it back");
}

}  // namespace oncelatch::launcher
