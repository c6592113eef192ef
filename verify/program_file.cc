#include "verify/program_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/untrusted.h"
#include "verify/artifact_key.h"
#include "verify/verify_file.h"

namespace oncelatch::verify {

namespace {

struct FreeText {
  void operator()(char* text) const { std::free(text); }
};

Result<Fd> open_descriptor(const std::string& path, const std::string& another) {
  int error = path.empty() || path.find('\0') != std::string::npos ? ENOENT : 0;
  // Non-blocking: a FIFO that stands there must not hold us.
  Fd file(error != 0 ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file) return file;
  if (error == 0) error = errno;
  bool missing = error == ENOENT || error == ENOTDIR;
  return fail_errno("verify", shown(path), error, missing ? another : "check that you may read it, or " + another);
}

}  // namespace

std::string shown(std::string_view path) {
  return escape_for_display(path, 1024);
}

Failure refuse(const std::string& path, std::string what, std::string try_next) {
  return fail("verify", shown(path), std::move(what), std::move(try_next));
}

FileIdentity identity_of(const struct stat& status) {
  auto nanoseconds = [](const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return {status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

Result<Fd> open_program_file(const std::string& path, const std::string& another) {
  Fd file = TRY(open_descriptor(path, another));
  struct stat status = TRY(status_of(file.get(), path));
  if (S_ISDIR(status.st_mode)) return fail_errno("verify", shown(path), EISDIR, "name the program itself");
  if (!S_ISREG(status.st_mode)) return refuse(path, "not a regular file", another);
  bool may_execute =
      ::syscall(SYS_faccessat2, file.get(), "", X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0 || errno == ENOSYS;
  if ((status.st_mode & 0111) == 0 || !may_execute) {
    return fail_errno("verify", shown(path), EACCES, "chmod u+x it, or move it off a file system mounted noexec",
                      "not executable");
  }
  return file;
}

Result<struct stat> status_of(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail_errno("verify", shown(path), errno, "check the file system", "stat");
  return status;
}

Result<std::string> real_path_of(const std::string& path, const FileIdentity& identity) {
  std::unique_ptr<char, FreeText> real(::realpath(path.c_str(), nullptr));
  struct stat status {};
  bool same = real && ::stat(real.get(), &status) == 0 && identity_of(status) == identity;
  if (!same) return refuse(path, "was replaced while it was checked; nothing was started", "try again");
  return std::string(real.get());
}

bool starts_as_script(int fd) {
  std::array<char, 2> first{};
  return ::pread(fd, first.data(), first.size(), 0) == 2 && first[0] == '#' && first[1] == '!';
}

Result<VerifiedArtifact> open_program(const std::string& path) {
  Fd file = TRY(open_program_file(path, "name another program"));
  FileIdentity identity = identity_of(TRY(status_of(file.get(), path)));
  std::string real = TRY(real_path_of(path, identity));
  bool is_script = starts_as_script(file.get());
  return VerifiedArtifact(ArtifactKey(), std::move(file), std::move(real), {}, is_script, identity);
}

namespace {

bool on_nfs(int fd) {
  struct statfs status {};
  return ::fstatfs(fd, &status) == 0 && status.f_type == NFS_SUPER_MAGIC;
}

}  // namespace

Status take_lease(int fd, const std::string& path) {
  ::fcntl(fd, F_SETSIG, SIGURG);  // ignored by default; SIGIO would end us when somebody tries to write
  if (::fcntl(fd, F_SETLEASE, F_RDLCK) == 0 || errno != EAGAIN || on_nfs(fd)) return {};
  return fail_errno("verify", shown(path), ETXTBSY, "wait until it is written, then try again",
                    "open for writing elsewhere");
}

}  // namespace oncelatch::verify
