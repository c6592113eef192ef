// What the filter refuses, as data: groups with the reason and the errno, like systemd's system call sets.
// sandbox/filter_gen.cc makes the filter of it at build time; `oncelatch why` explains refusals by it.
//
//   for (const SyscallGroup& group : syscall_groups({})) print(group.name, group.help);
//
// Names are libseccomp's; one that an architecture lacks is skipped there. Arguments are compared in their low 32 bits,
// as the kernel uses them (a 64-bit compare is passed by TIOCSTI | 1 << 32). Ownership, threads, failure: constants.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sandbox/filter_variant.h"

namespace oncelatch::sandbox {

struct ArgumentTest {
  enum class Kind {
    masked,   // (argument & mask) == value
    above,    // argument > value
    differs,  // argument != value
  };
  unsigned argument;
  Kind kind;
  std::uint64_t mask;
  std::uint64_t value;
};

// All tests must hold for the refusal; none: always.
struct SyscallRule {
  std::string_view name;
  std::vector<ArgumentTest> tests;
};

inline constexpr int kToBroker = -1;

struct SyscallGroup {
  std::string_view name;
  std::string_view help;
  int error;  // kToBroker: done on behalf, or refused there
  std::vector<SyscallRule> rules;
};

// A group without rules has none in this variant.
[[nodiscard]] std::vector<SyscallGroup> syscall_groups(const FilterVariant& variant);

// What the first process calls once it guards a workspace: for itself, and on behalf of the program. All else is EPERM
// for it. It reads what hostile programs hand it, and may make what they may not.
inline constexpr std::string_view kBrokerCalls[] = {
    "read",       "write",    "close",   "dup3",       "close_range",   "fcntl",      "ioctl",       "ppoll",
    "signalfd4",  "kill",     "tgkill",  "wait4",      "waitid",        "clone",      "exit",        "exit_group",
    "mmap",       "mprotect", "munmap",  "getdents64", "clock_gettime", "pidfd_open", "pidfd_getfd", "process_vm_readv",
    "prlimit64",  "openat",   "openat2", "faccessat2", "statx",         "fstatfs",    "readlinkat",  "chdir",
    "fchdir",     "truncate", "mkdirat", "mknodat",    "symlinkat",     "linkat",     "renameat2",   "bind",
    "getsockopt", "umask",    "unlinkat"};

// Beyond what libseccomp 2.5 can name or say (filter_gen.cc puts them before its program).
inline constexpr std::uint32_t kNewestKnownSyscall = 462;  // mseal; anything newer, up to kFirstPrivateSyscall: ENOSYS
inline constexpr std::uint32_t kFirstPrivateSyscall = 0x000f0000;  // Arm's own; x32 starts at 0x40000000
inline constexpr std::uint32_t kUnnamedRefused[] = {
    452,  // fchmodat2: set-id bits; libraries fall back to fchmodat
    457,  // statmount
    458,  // listmount
};
inline constexpr std::uint32_t kHarmlessPersonalities[] = {0 /* Linux */, 8 /* Linux32 */, 0xffffffff /* query */};

}  // namespace oncelatch::sandbox
