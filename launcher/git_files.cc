#include "launcher/git_files.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/beneath.h"
#include "base/digits.h"
#include "base/untrusted.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "worktree";
constexpr std::size_t kMostHead = 4096;
constexpr std::string_view kReference = "ref: ";

Failure refused(const std::string& path, const char* what) {
  return fail(kStage, escape_for_display(path, 400), what, "look at it, and remove it");
}

// Itself and all above it, below the git directory.
Status check_file(const std::string& directory, const std::string& name) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end == 0 ? 0 : end + 1);
    const std::string path = directory + "/" + name.substr(0, end);
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) {
      if (errno == ENOENT) return {};
      return fail_errno(kStage, escape_for_display(path, 400), errno);
    }
    if (S_ISLNK(found.st_mode)) return refused(path, "is a symbolic link: git would write where it leads");
    if (!S_ISDIR(found.st_mode) && (end != std::string::npos || !S_ISREG(found.st_mode)))
      return refused(path, "is no file of git's");
    if (end == std::string::npos && name.starts_with("logs/") && S_ISREG(found.st_mode) && found.st_nlink > 1)
      return refused(path, "has another name: git would write there, too");
  }
  return {};
}

// The branch that a HEAD names; empty: none.
std::string named_by_head(const std::string& directory) {
  const Result<Fd> opened = open_directory(directory);
  Result<std::string> text = opened ? read_file(opened->get(), "HEAD", kMostHead) : Failure(opened.error());
  if (!text || text->rfind(kReference, 0) != 0) return {};
  return text->substr(kReference.size(), text->find('\n') - kReference.size());
}

}  // namespace

Status check_git_files(const std::vector<std::string>& directories, const std::vector<std::string>& references) {
  std::vector<std::string> names = {"HEAD",      "index",     "packed-refs",  "shallow",
                                    "ORIG_HEAD", "logs/HEAD", "objects/pack", "reftable/tables.list"};
  std::vector<std::string> moved = references;
  for (const std::string& directory : directories)
    if (const std::string branch = named_by_head(directory); !branch.empty()) moved.push_back(branch);
  for (const std::string& reference : moved) {
    names.push_back(reference);
    names.push_back("logs/" + reference);
  }
  for (unsigned i = 0; i < 256; ++i) names.push_back("objects/" + hexadecimal(i, 2));
  for (const std::string& directory : directories)
    for (const std::string& name : names) {
      TRY(check_file(directory, name));
      TRY(check_file(directory, name + ".lock"));
    }
  return {};
}

}  // namespace oncelatch::launcher
