// The machine as far as it decides which archive fits.
//
//   Platform here = TRY(this_platform());   // {"linux", "x86_64", Libc::glibc, 2, 36}
//
// Ownership: values. Threads: any. Failure: Error of stage "verify". After fork: allocates.
#pragma once

#include <string>

#include "base/result.h"

namespace oncelatch::verify {

enum class Libc { glibc, musl };

struct Platform {
  std::string os;
  std::string architecture;  // as uname(2) calls it
  Libc libc = Libc::musl;
  unsigned major = 0;  // of the C library; 0 for musl
  unsigned minor = 0;
};

[[nodiscard]] Result<Platform> this_platform();

}  // namespace oncelatch::verify
