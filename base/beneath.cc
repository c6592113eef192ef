#include "base/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/digits.h"
#include "base/own_directory.h"

namespace oncelatch {

namespace {

constexpr int kTries = 16;

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Result<std::string> random_suffix() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    return fail_errno("file", "random name", errno, {}, "getrandom");
  }
  return hexadecimal(bits, 16);
}

bool is_component(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos && !has_nul(name);
}

struct Place {
  Fd parent;
  std::string leaf;
};

// The directory that holds the last component of `path`, and that component.
Result<Place> split(int dir, const std::string& path) {
  std::size_t slash = path.rfind('/');
  std::string leaf = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
  if (!is_component(leaf) || parent.empty())
    return fail_errno("file", path, EINVAL, "name a file beneath the directory");
  Fd opened = TRY(open_beneath(dir, parent, O_RDONLY | O_DIRECTORY));
  return Place{std::move(opened), std::move(leaf)};
}

Status fill(int fd, std::string_view bytes, mode_t mode, const std::string& path) {
  if (::fchmod(fd, mode) != 0) return fail_errno("file", path, errno, {}, "fchmod");
  TRY(write_all(fd, bytes, path));
  if (::fsync(fd) != 0) return fail_errno("file", path, errno, {}, "fsync");
  return {};
}

// Writes the nameless part under `temporary`, then gives it its final name.
Status write_and_rename(const Place& place, const std::string& temporary, std::string_view bytes, mode_t mode,
                        const std::string& path) {
  Fd file = TRY(open_beneath(place.parent.get(), temporary, O_WRONLY | O_CREAT | O_EXCL, 0600));
  Status filled = fill(file.get(), bytes, mode, path);
  if (filled && ::renameat(place.parent.get(), temporary.c_str(), place.parent.get(), place.leaf.c_str()) != 0) {
    filled = fail_errno("file", path, errno, {}, "rename");
  }
  if (!filled) {
    ::unlinkat(place.parent.get(), temporary.c_str(), 0);
    return filled;
  }
  if (::fsync(place.parent.get()) != 0) return fail_errno("file", path, errno, {}, "fsync of the directory");
  return {};
}

}  // namespace

int openat2_beneath(int dir, const char* path, int flags, mode_t mode, std::uint64_t more_resolve) {
  bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = creates ? mode & 07777 : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | more_resolve;
  for (int tries = 0;; ++tries) {
    long fd = ::syscall(SYS_openat2, dir, path, &how, sizeof how);
    // EAGAIN: a rename somewhere on the machine made the kernel give up its proof; asking again is right.
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN) || tries == kTries) return static_cast<int>(fd);
  }
}

Result<Fd> open_directory(const std::string& path) {
  if (path.empty() || has_nul(path)) return fail_errno("file", path, EINVAL);
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("file", path, errno, {}, "open directory");
  return fd;
}

Result<Fd> open_beneath(int dir, const std::string& path, int flags, mode_t mode) {
  if (has_nul(path)) return fail_errno("file", path.substr(0, path.find('\0')), EINVAL, {}, "name with a NUL byte");
  Fd fd(openat2_beneath(dir, path.c_str(), flags, mode, 0));
  if (!fd) return fail_errno("file", path, errno, {}, "open");
  bool made = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) || (flags & O_TMPFILE) == O_TMPFILE;
  if (made && ::fchmod(fd.get(), mode & 07777) != 0) return fail_errno("file", path, errno, {}, "fchmod");
  return fd;
}

Fd open_own_directory(int dir, const char* name, std::uint64_t more_resolve) {
  Fd fd(openat2_beneath(dir, name, O_RDONLY | O_DIRECTORY, 0, more_resolve));
  if (fd || errno != EACCES) return fd;
  // No right to read it: give the owner all rights on the very directory, by descriptor, and ask again through that.
  Fd handle(openat2_beneath(dir, name, O_PATH | O_DIRECTORY, 0, more_resolve));
  if (!handle) return handle;
  std::string by_descriptor = "/proc/self/fd/" + std::to_string(handle.get());
  if (::chmod(by_descriptor.c_str(), 0700) != 0) return Fd();
  return Fd(openat2_beneath(handle.get(), ".", O_RDONLY | O_DIRECTORY, 0, 0));
}

Result<Fd> make_directory(int dir, const std::string& name, mode_t mode) {
  if (!is_component(name)) return fail_errno("file", name, EINVAL, "name one directory without '/'", "mkdir");
  if (::mkdirat(dir, name.c_str(), 0700) != 0) return fail_errno("file", name, errno, {}, "mkdir");
  Fd fd = open_own_directory(dir, name.c_str(), 0);
  if (fd && ::fchmod(fd.get(), mode) == 0) return fd;
  int error = errno;
  ::unlinkat(dir, name.c_str(), AT_REMOVEDIR);
  return fail_errno("file", name, error, {}, "open the new directory");
}

Result<Fd> make_unique_directory(int dir, const std::string& prefix, mode_t mode, std::string* name) {
  for (int tries = 0;; ++tries) {
    std::string candidate = prefix + TRY(random_suffix());
    Result<Fd> made = make_directory(dir, candidate, mode);
    if (made) *name = std::move(candidate);
    if (made || made.error().errno_value != EEXIST || tries == kTries) return made;
  }
}

Status check_private_directory(int fd, const std::string& name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail_errno("file", name, errno, {}, "stat");
  if (!S_ISDIR(status.st_mode)) return fail_errno("file", name, ENOTDIR);
  if (status.st_uid != ::geteuid()) {
    return fail(
        "file", name,
        "belongs to uid " + std::to_string(status.st_uid) + ", not to you (uid " + std::to_string(::geteuid()) + ")",
        "use a directory of your own");
  }
  if ((status.st_mode & 077) != 0) {
    return fail("file", name, "mode " + octal(status.st_mode & 07777, 4) + " gives rights to others",
                "chmod 700 " + name);
  }
  return {};
}

Result<std::string> read_file(int dir, const std::string& path, std::size_t most) {
  Fd fd = TRY(open_beneath(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno("file", path, errno, {}, "stat");
  if (S_ISDIR(status.st_mode)) return fail_errno("file", path, EISDIR);
  if (!S_ISREG(status.st_mode)) return fail("file", path, "not a regular file");
  return read_whole(fd.get(), path, most);
}

Result<std::string> read_whole(int fd, const std::string& name, std::size_t most) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::string bytes;
  for (;;) {
    std::size_t had = bytes.size();
    std::size_t room = std::min(kChunk, most - had + 1);  // one more than allowed shows that there is more
    bytes.resize(had + room);
    ssize_t got = ::read(fd, bytes.data() + had, room);
    bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("file", name, errno, {}, "read");
    if (got == 0) return bytes;
    if (bytes.size() > most) return fail_errno("file", name, EFBIG, {}, "more than " + std::to_string(most) + " bytes");
  }
}

Status write_file_atomic(int dir, const std::string& path, std::string_view bytes, mode_t mode) {
  Place place = TRY(split(dir, path));
  std::string temporary = ".oncelatch-" + TRY(random_suffix());
  return write_and_rename(place, temporary, bytes, mode, path);
}

int rename_by(int from, const std::string& name, int to, const std::string& as, unsigned flags) {
  return static_cast<int>(::syscall(SYS_renameat2, from, name.c_str(), to, as.c_str(), flags));
}

Status write_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno("file", name, errno, {}, "write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace oncelatch
