#include "audit/database_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/beneath.h"

namespace oncelatch::audit {
namespace {

namespace files = std::filesystem;

struct Place {
  files::path directory;
  std::string name;
};

Result<Place> split_place(const std::string& path) {
  const files::path whole(path);
  Place place{whole.parent_path(), whole.filename().string()};
  if (place.name.empty() || place.name == "." || place.name == ".." || path.find('\0') != std::string::npos)
    return fail("audit", path, "isn't the name of a file", "name a file, for example …/audit.db");
  if (place.directory.empty()) place.directory = ".";
  return place;
}

Result<Fd> ensure_directory(const files::path& directory) {
  Result<Fd> found = open_directory(directory.string());
  if (found || found.error().errno_value != ENOENT || !directory.has_filename()) return found;
  const files::path parent = directory.parent_path();
  const Fd above = TRY(ensure_directory(parent.empty() ? files::path(".") : parent));
  Result<Fd> made = make_directory(above.get(), directory.filename().string(), 0700);
  if (!made && made.error().errno_value == EEXIST) return open_directory(directory.string());
  return made;
}

Result<std::string> real_path(const Place& place, const std::string& path) {
  std::error_code error;
  const files::path real = files::canonical(place.directory, error);
  if (error) return fail_errno("audit", path, error.value(), {}, "realpath");
  return (real / place.name).string();
}

// nullopt: there is no such file.
Result<std::optional<struct stat>> look_at(int directory, const std::string& name) {
  struct stat info {};
  if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return std::optional<struct stat>(info);
  if (errno == ENOENT) return std::optional<struct stat>();
  return fail_errno("audit", name, errno, {}, "stat");
}

Status check_regular(const struct stat& info, const std::string& path) {
  if (S_ISLNK(info.st_mode)) return fail("audit", path, "is a symbolic link", "name the file itself");
  if (!S_ISREG(info.st_mode)) return fail("audit", path, "isn't a regular file", "name another file");
  return {};
}

Status check_ours(const struct stat& info, const std::string& path) {
  TRY(check_regular(info, path));
  if (info.st_uid != ::geteuid()) return fail("audit", path, "belongs to another user", "name another file");
  if ((info.st_mode & 077) != 0)
    return fail("audit", path, "can be used by group or others", "chmod 600 it, or name another");
  if (info.st_nlink != 1)
    return fail("audit", path, "has a second hard link", "remove that link, or name another file");
  return {};
}

Status create_file(int directory, const std::string& name, const std::string& path) {
  Result<Fd> file = open_beneath(directory, name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!file) return file.error().errno_value == EEXIST ? Status() : Status(Failure(file.error()));
  if (::fchmod(file->get(), 0600) != 0 || ::fsync(file->get()) != 0 || ::fsync(directory) != 0)
    return fail_errno("audit", path, errno, {}, "create");
  return {};
}

}  // namespace

Result<std::string> prepare_for_writing(const std::string& path) {
  const Place place = TRY(split_place(path));
  const Fd directory = TRY(ensure_directory(place.directory));
  TRY(check_private_directory(directory.get(), place.directory.string()));
  const std::optional<struct stat> before = TRY(look_at(directory.get(), place.name));
  if (!before) TRY(create_file(directory.get(), place.name, path));
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::optional<struct stat> info = TRY(look_at(directory.get(), place.name + suffix));
    if (info) TRY(check_ours(*info, path + suffix));
  }
  return real_path(place, path);
}

Result<std::string> prepare_for_reading(const std::string& path) {
  const Place place = TRY(split_place(path));
  const Fd directory = TRY(open_directory(place.directory.string()));
  const std::optional<struct stat> info = TRY(look_at(directory.get(), place.name));
  if (!info) return fail_errno("audit", path, ENOENT, "run a session first, or name another database with --audit");
  TRY(check_regular(*info, path));
  return real_path(place, path);
}

}  // namespace oncelatch::audit
