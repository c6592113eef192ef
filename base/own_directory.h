// Raw openat2(2) calls shared by beneath.cc and remove_tree.cc.
//
//   Fd fd = open_own_directory(dir, "cache", RESOLVE_NO_XDEV);
//   if (!fd) ... errno ...
//
// Ownership: the result owns its descriptor. Threads: no state. Failure: an empty Fd (or -1) and errno. After fork:
// allocates. Internal to base/.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/fd.h"

namespace oncelatch {

// As open_beneath, without messages; `more_resolve` adds RESOLVE_ flags.
[[nodiscard]] int openat2_beneath(int dir, const char* path, int flags, mode_t mode, std::uint64_t more_resolve);

// Opens one directory for reading; where its mode forbids that to its owner, the mode becomes 0700 first.
[[nodiscard]] Fd open_own_directory(int dir, const char* name, std::uint64_t more_resolve);

}  // namespace oncelatch
