// The narrow confinement of what works outside the sandbox: no new privileges, Landlock at the machine's ABI, the
// sandbox's filter with unix sockets only. Shared by oncelatch-narrow and narrow_self().
//
//   NarrowGrant grants[] = {{"read", "/usr/lib"}, {"run", "/usr/bin/tmux"}};
//   NarrowFault fault = apply_narrowing({grants, 2, NarrowFor::program});
//   if (fault.error != 0) …   // the process must end: it is confined in part
//
// Ownership: borrows the texts. Threads: restricts the calling one and what it starts. Failure: the stage, the object
// and the errno of the first step that failed. After fork: safe; freestanding.
#pragma once

#include <cstdint>

namespace oncelatch::sandbox {

// What a word gives on a file, or on a directory and all beneath it. Paths are real ones: a link is refused.
struct NarrowWord {
  const char* word;
  std::uint64_t rights;  // Landlock's
  const char* help;
};
[[nodiscard]] const NarrowWord* find_narrow_word(const char* word);

struct NarrowGrant {
  const char* word;
  const char* path;
};

enum class NarrowFor {
  program,  // started by oncelatch-narrow: signals stay within the domain
  caller,   // our own process: it signals its children, and opens its files by openat2(2)
};

struct NarrowRequest {
  const NarrowGrant* grants;
  unsigned count;
  NarrowFor whom;
};

struct [[nodiscard]] NarrowFault {
  int error = 0;  // errno, 0: done
  const char* stage = "";
  const char* object = "";
};
NarrowFault apply_narrowing(const NarrowRequest& request);

}  // namespace oncelatch::sandbox
