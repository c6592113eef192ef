#include "verify/platform.h"

#include <sys/utsname.h>

#include <cstdio>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

namespace oncelatch::verify {

Result<Platform> this_platform() {
  utsname name{};
  if (::uname(&name) != 0) return fail("verify", "this machine", "doesn't tell its architecture");
  Platform platform{.os = "linux", .architecture = name.machine};
#ifdef __GLIBC__
  platform.libc = Libc::glibc;
  if (std::sscanf(::gnu_get_libc_version(), "%u.%u", &platform.major, &platform.minor) != 2)
    return fail("verify", "this machine", "doesn't tell its C library's version");
#endif
  return platform;
}

}  // namespace oncelatch::verify
