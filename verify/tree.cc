#include "verify/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "verify/artifact_key.h"
#include "verify/listing.h"
#include "verify/program_file.h"
#include "verify/verify_file.h"

namespace oncelatch::verify {

namespace {

constexpr mode_t kDirectoryMode = 0555;
constexpr mode_t kFileMode = 0444;
constexpr int kReading = O_RDONLY | O_NONBLOCK | O_NOCTTY;

Failure refuse_file(const std::string& path, std::string what) {
  return fail("verify", escape_for_display(path, 300), std::move(what) + "; nothing was started",
              "oncelatch prepare installs it again");
}

// Times of a file come from the same clock as ours.
bool is_local(int fd) {
  constexpr long kCifs = 0xff534d42;
  constexpr long kSmb2 = 0xfe534d42;
  constexpr long kFuse = 0x65735546;
  constexpr long k9p = 0x01021997;
  struct statfs found {};
  if (::fstatfs(fd, &found) != 0) return false;
  const auto type = static_cast<long>(static_cast<unsigned long>(found.f_type) & 0xffffffffUL);
  return type != NFS_SUPER_MAGIC && type != kCifs && type != kSmb2 && type != kFuse && type != k9p;
}

// What an installed version may consist of.
Status check_kind(const struct stat& found, const std::string& path, dev_t device) {
  const bool directory = S_ISDIR(found.st_mode);
  if (!directory && !S_ISREG(found.st_mode)) return refuse_file(path, "is neither a file nor a directory");
  if (found.st_uid != ::geteuid()) return refuse_file(path, fmt::format("belongs to uid {}, not to you", found.st_uid));
  if (!directory && found.st_nlink != 1) return refuse_file(path, "has another name elsewhere");
  if (found.st_dev != device) return refuse_file(path, "is on another file system");
  return {};
}

// Hashed while nothing changed it.
Result<std::string> steady_digest(int fd, const std::string& path, const FileIdentity& before) {
  std::string digest = TRY(sha256_of(fd, path));
  const struct stat after = TRY(status_of(fd, path));
  if (!(identity_of(after) == before)) return refuse_file(path, "changed while it was read");
  return digest;
}

class Reader {
 public:
  Reader(int root, dev_t device) : root_(root), device_(device) {}

  Status look_into(const std::string& directory) {
    Fd opened;
    if (!directory.empty()) opened = TRY(open_beneath(root_, directory, O_RDONLY | O_DIRECTORY));
    const int here = directory.empty() ? root_ : opened.get();
    for (const std::string& name : TRY(names_in(here, directory.empty() ? "the archive" : directory, kMostTreeEntries)))
      TRY(look_at(directory.empty() ? name : directory + "/" + name));
    return {};
  }
  std::vector<TreeEntry> entries;

 private:
  Status look_at(const std::string& path) {
    if (!is_entry_path(path)) return refuse_file(path, "has a name that no version may have");
    if (entries.size() == kMostTreeEntries) return refuse_file(path, "is one too many");
    Fd file = TRY(open_beneath(root_, path, kReading));
    struct stat found = TRY(status_of(file.get(), path));
    TRY(check_kind(found, path, device_));
    const bool directory = S_ISDIR(found.st_mode);
    const mode_t mode = directory || (found.st_mode & 0100U) != 0 ? kDirectoryMode : kFileMode;
    if (!directory && ::fchmod(file.get(), mode) != 0) return fail_errno("verify", path, errno, {}, "chmod");
    TreeEntry entry{.path = path, .directory = directory, .mode = mode, .size = 0, .sha256 = {}};
    if (!directory) {
      found = TRY(status_of(file.get(), path));
      entry.size = static_cast<std::uint64_t>(found.st_size);
      entry.sha256 = TRY(steady_digest(file.get(), path, identity_of(found)));
    }
    entries.push_back(std::move(entry));
    if (!directory) return {};
    TRY(look_into(path));
    return ::fchmod(file.get(), mode) == 0 ? Status() : fail_errno("verify", path, errno, {}, "chmod");
  }

  int root_;
  dev_t device_;
};

class Checker {
 public:
  Checker(int root, const TreeRecord& record, Seals& seals, dev_t device)
      : root_(root), record_(record), seals_(seals), device_(device), local_(is_local(root)) {}

  Result<CheckedTree> check() {
    TRY(check_directory(root_, ""));
    for (const TreeEntry& entry : record_.entries) TRY(check_entry(entry));
    return std::move(tree_);
  }

 private:
  Status check_entry(const TreeEntry& entry) {
    Result<Fd> opened = open_beneath(root_, entry.path, kReading);
    if (!opened && opened.error().errno_value == ENOENT) return refuse_file(entry.path, "is missing");
    Fd file = TRY(std::move(opened));
    const struct stat found = TRY(status_of(file.get(), entry.path));
    TRY(check_kind(found, entry.path, device_));
    if (S_ISDIR(found.st_mode) != entry.directory)
      return refuse_file(entry.path, entry.directory ? "is no directory" : "is a directory");
    if ((found.st_mode & 07777U) != entry.mode)
      return refuse_file(entry.path,
                         fmt::format("mode is {:04o}, expected {:04o}", found.st_mode & 07777U, entry.mode));
    return entry.directory ? check_directory(file.get(), entry.path) : check_file(std::move(file), found, entry);
  }

  Status check_file(Fd file, const struct stat& found, const TreeEntry& entry) {
    if (static_cast<std::uint64_t>(found.st_size) != entry.size)
      return refuse_file(entry.path, fmt::format("has {} bytes, expected {}", found.st_size, entry.size));
    TRY(take_lease(file.get(), entry.path));
    const FileIdentity identity = identity_of(found);
    if (!seals_.knows(entry.path, identity, entry.sha256)) {
      const std::int64_t started = Seals::clock_now();
      const std::string digest = TRY(steady_digest(file.get(), entry.path, identity));
      if (digest != entry.sha256)
        return refuse_file(entry.path, fmt::format("SHA-256 is {}, expected {}", digest, entry.sha256));
      if (local_) seals_.add(entry.path, identity, digest, started);
    }
    tree_.files.emplace(entry.path, CheckedFile{std::move(file), identity, entry.sha256});
    return {};
  }

  // Each name in it has an entry.
  Status check_directory(int directory, const std::string& path) const {
    for (const std::string& name : TRY(names_in(directory, path.empty() ? "the version" : path, kMostTreeEntries))) {
      const std::string whole = path.empty() ? name : path + "/" + name;
      const auto at = std::lower_bound(record_.entries.begin(), record_.entries.end(), whole,
                                       [](const TreeEntry& one, const std::string& other) { return one.path < other; });
      if (at == record_.entries.end() || at->path != whole)
        return refuse_file(whole, "is no part of version " + record_.version);
    }
    return {};
  }

  int root_;
  const TreeRecord& record_;
  Seals& seals_;
  dev_t device_;
  bool local_;
  CheckedTree tree_;
};

}  // namespace

Result<std::vector<TreeEntry>> read_tree(int directory) {
  const struct stat root = TRY(status_of(directory, "the archive"));
  Reader reader(directory, root.st_dev);
  TRY(reader.look_into(""));
  std::sort(reader.entries.begin(), reader.entries.end(),
            [](const TreeEntry& one, const TreeEntry& other) { return one.path < other.path; });
  return std::move(reader.entries);
}

Result<CheckedTree> check_tree(int directory, const TreeRecord& record, Seals& seals) {
  const struct stat root = TRY(status_of(directory, "version " + record.version));
  TRY(check_kind(root, "version " + record.version, root.st_dev));
  return Checker(directory, record, seals, root.st_dev).check();
}

Result<VerifiedArtifact> open_checked(CheckedTree& tree, const std::string& path, const std::string& place) {
  const auto found = tree.files.find(path);
  if (found == tree.files.end()) return refuse_file(path, "is no file of the version");
  CheckedFile file = std::move(found->second);
  tree.files.erase(found);
  const bool is_script = starts_as_script(file.file.get());
  return VerifiedArtifact(ArtifactKey(), std::move(file.file), place + "/" + path, std::move(file.sha256), is_script,
                          file.identity);
}

}  // namespace oncelatch::verify
