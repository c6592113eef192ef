// Files by descriptor. Every path is relative to a directory descriptor and resolved by openat2(2) with
// RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS, so nothing planted in between can lead elsewhere.
//
//   Fd root = TRY(open_directory("/run/user/1000"));
//   TRY(make_directory(root.get(), "oncelatch", 0700));
//   TRY(write_file_atomic(root.get(), "oncelatch/report.json", text, 0600));
//   TRY(remove_tree(root.get(), "oncelatch"));
//
// Ownership: descriptors passed as int stay the caller's. Threads: no state. Failure: Error with errno; nothing
// half-written stays under its final name. Units: bytes, mode bits as chmod(2). After fork: allocates.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch {

// Opens an absolute or relative directory by its real path (symlinks in the path itself are followed by the caller's
// will).
[[nodiscard]] Result<Fd> open_directory(const std::string& path);
// open(2) flags plus O_CLOEXEC | O_NOFOLLOW, beneath `dir`. With O_CREAT | O_EXCL `mode` is exact under every umask.
[[nodiscard]] Result<Fd> open_beneath(int dir, const std::string& path, int flags, mode_t mode = 0);
// mkdir of one component and open it; exact mode under every umask. Exists already: error EEXIST.
[[nodiscard]] Result<Fd> make_directory(int dir, const std::string& name, mode_t mode);
// As make_directory with a random suffix of 64 bits; returns the name made in `name`.
[[nodiscard]] Result<Fd> make_unique_directory(int dir, const std::string& prefix, mode_t mode, std::string* name);
// Owner is the caller, a directory, no group or other permission bits.
[[nodiscard]] Status check_private_directory(int fd, const std::string& name);
// Whole regular file, refused beyond `most` bytes.
[[nodiscard]] Result<std::string> read_file(int dir, const std::string& path, std::size_t most);
[[nodiscard]] Result<std::string> read_whole(int fd, const std::string& name, std::size_t most);
// Temporary name in the same directory, fsync, rename.
[[nodiscard]] Status write_file_atomic(int dir, const std::string& path, std::string_view bytes, mode_t mode);
// Removes the tree `name` in `dir` without following links, whatever its modes and depth (own stack, no recursion); a
// missing tree is success. Mount points inside are not crossed. What can't be removed stays, the rest goes, the first
// error is returned.
[[nodiscard]] Status remove_tree(int dir, const std::string& name);
// Of one component each; flags of renameat2(2). -1 and errno.
[[nodiscard]] int rename_by(int from, const std::string& name, int to, const std::string& as, unsigned flags);
// All bytes, restarting on EINTR and short writes.
[[nodiscard]] Status write_all(int fd, std::string_view bytes, const std::string& name);

}  // namespace oncelatch
