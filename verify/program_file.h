// A program's file, opened once: kind, right to execute, real path, whether it is a script. Shared by verify_file() and
// open_program(); part of the light program.
//
//   Fd file = TRY(open_program_file(path, "name another"));
//   struct stat status = TRY(status_of(file.get(), path));
//
// Ownership: the descriptor is the caller's. Threads: no state. Failure: Error of stage "verify", the path escaped;
// errno ENOENT: no such file, EACCES: not executable. After fork: allocates.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/artifact.h"
#include "base/result.h"

namespace oncelatch::verify {

[[nodiscard]] std::string shown(std::string_view path);
[[nodiscard]] Failure refuse(const std::string& path, std::string what, std::string try_next);
[[nodiscard]] FileIdentity identity_of(const struct stat& status);
// A regular file that the caller may execute; symlinks in `path` are followed.
[[nodiscard]] Result<Fd> open_program_file(const std::string& path, const std::string& another);
[[nodiscard]] Result<struct stat> status_of(int fd, const std::string& path);
// Where the opened file stands, without symlinks.
[[nodiscard]] Result<std::string> real_path_of(const std::string& path, const FileIdentity& identity);
[[nodiscard]] bool starts_as_script(int fd);
// Keeps writers out until the descriptor is closed. Where the kernel gives no lease the identity has to do, but a file
// that is open for writing right now is refused. (NFS answers as if it were when it merely has no delegation.)
[[nodiscard]] Status take_lease(int fd, const std::string& path);

}  // namespace oncelatch::verify
