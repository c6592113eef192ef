// Build-time tool: the names of this architecture's system calls, by number, from libseccomp and, where it is older
// than the filter, from a list. The programs that ship have the table, not the library.
#include <seccomp.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "sandbox/syscall_groups.h"

namespace {

// From 451 on the numbers are the same everywhere.
constexpr unsigned kFirstNewer = 451;
constexpr const char* kNewer[] = {"cachestat",         "fchmodat2",         "map_shadow_stack", "futex_wake",
                                  "futex_wait",        "futex_requeue",     "statmount",        "listmount",
                                  "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "mseal"};
static_assert(kFirstNewer + sizeof kNewer / sizeof kNewer[0] == oncelatch::sandbox::kNewestKnownSyscall + 1);

std::string name_of(unsigned number) {
  if (number >= kFirstNewer) return kNewer[number - kFirstNewer];
  char* found = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number));
  std::string name = found != nullptr ? found : "";
  std::free(found);
  return name;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* out = argc == 2 ? std::fopen(argv[1], "we") : nullptr;
  if (out == nullptr) {
    std::fprintf(stderr, "usage: syscall_names_gen HEADER\n");
    return 2;
  }
  std::fprintf(out, "// Made by sandbox/syscall_names_gen.cc. Empty: no call has this number.\n#pragma once\n\n");
  std::fprintf(out, "namespace oncelatch::sandbox {\n\ninline constexpr const char* kSyscallNames[] = {\n");
  for (unsigned number = 0; number <= oncelatch::sandbox::kNewestKnownSyscall; ++number)
    std::fprintf(out, "    \"%s\",\n", name_of(number).c_str());
  std::fprintf(out, "};\n\n}  // namespace oncelatch::sandbox\n");
  return std::fclose(out) == 0 ? 0 : 1;
}
