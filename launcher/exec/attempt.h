// The light program inside its own sandbox: makes the attempts that `oncelatch why` asks for and says what the kernel
// answered, a line each.
//
//   argv = {kAttemptName, "path", "/etc/shadow"}   // prints "visible 2\nreadable 2\n…" (errno, 0: done)
//
// Run by descriptor, so the view needs nothing for it. Ownership: none. Threads: one. Failure: an attempt that isn't
// known prints nothing. After fork: not used. Part of the light program; outside a sandbox it is as harmless.
#pragma once

#include <string_view>

namespace oncelatch::launcher {

inline constexpr std::string_view kAttemptName = "oncelatch-attempt";

// Words of `kind`: "nothing"; "path", then the path; "unix", a path; "abstract", a name; "tcp" or "udp", an address and
// a port; "call", a number and six arguments, again and again.
int attempt(int argc, char** argv);

}  // namespace oncelatch::launcher
