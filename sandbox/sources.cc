#include "sandbox/sources.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "sandbox/plan_wire.h"

namespace oncelatch::sandbox {

namespace {

int open_object(int directory, const std::string& path, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS | resolve;
  return static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
}

Result<std::string> name_of(int fd, const std::string& path) {
  std::array<char, PATH_MAX> name;
  std::string link = "/proc/self/fd/" + std::to_string(fd);
  ssize_t size = ::readlink(link.c_str(), name.data(), name.size());
  if (size <= 0 || static_cast<std::size_t>(size) == name.size())
    return fail_errno("sandbox", path, size < 0 ? errno : ENAMETOOLONG, {}, "name of the descriptor");
  return std::string(name.data(), static_cast<std::size_t>(size));
}

}  // namespace

Result<Source> Sources::keep(Fd descriptor, const std::string& path) {
  struct stat found {};
  if (::fstat(descriptor.get(), &found) != 0) return fail_errno("sandbox", path, errno);
  if (count() >= kMostSources) return fail_errno("sandbox", path, EMFILE, "name fewer mounts");
  Source source;
  source.real_path = TRY(name_of(descriptor.get(), path));
  source.directory = S_ISDIR(found.st_mode);
  source.regular = S_ISREG(found.st_mode);
  source.link = S_ISLNK(found.st_mode);
  source.owner = found.st_uid;
  source.index = static_cast<std::int32_t>(descriptors_.size());
  descriptors_.push_back(std::move(descriptor));
  return source;
}

Result<Source> Sources::open_path(const std::string& path, bool links) {
  Fd descriptor(open_object(AT_FDCWD, path, links ? 0 : RESOLVE_NO_SYMLINKS));
  if (!descriptor && errno == ELOOP) return fail_errno("sandbox", path, ELOOP, "name the object itself, without links");
  if (!descriptor) return fail_errno("sandbox", path, errno, "check that it exists and can be reached");
  Source source = TRY(keep(std::move(descriptor), path));
  if (source.link) return fail_errno("sandbox", path, ELOOP, "name the object itself, not a link to it");
  if (!source.directory && !source.regular)
    return fail("sandbox", path, "neither a directory nor a regular file", "sockets, devices and FIFOs can't be shown");
  return source;
}

Result<std::optional<Source>> Sources::open_below(const Source& root, const std::string& relative) {
  int directory = descriptors_[static_cast<std::size_t>(root.index)].get();
  Fd descriptor(open_object(directory, relative, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH));
  if (!descriptor && (errno == ENOENT || errno == ENOTDIR)) return std::optional<Source>();
  std::string path = (root.real_path == "/" ? "" : root.real_path) + "/" + relative;
  if (!descriptor) return fail_errno("sandbox", path, errno, "a path to cover must not lead through a link");
  return std::optional<Source>(TRY(keep(std::move(descriptor), path)));
}

}  // namespace oncelatch::sandbox
