// Whether a directory is one that only its owner can change: each on the way to it is root's or the caller's, written
// by nobody else, and from the first of the caller's on no link.
//
//   Fd data = TRY(open_own_place("/home/u/.local/share", Missing::make));
//
// Ownership: the descriptor is the caller's. Threads: no state. Failure: Error of stage "verify" that names the part
// and what is wrong with it; errno ENOENT where it isn't there. After fork: allocates.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::verify {

enum class Missing { make, refuse };

// Absolute and clean. What is made has mode 0700.
[[nodiscard]] Result<Fd> open_own_place(const std::string& path, Missing missing);

}  // namespace oncelatch::verify
