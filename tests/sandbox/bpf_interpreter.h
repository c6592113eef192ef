// The interpreter of sandbox/filter_machine.h for tests: a program that seccomp would not take throws, so a test fails.
//
//   std::uint32_t action = must_run_filter(kFilters[0].instructions, kFilters[0].length,
//                                          {.nr = 165, .arch = AUDIT_ARCH_X86_64});
#pragma once

#include <stdexcept>

#include "sandbox/filter_machine.h"

namespace oncelatch::sandbox {

inline std::uint32_t must_run_filter(const sock_filter* program, std::size_t length, const seccomp_data& data) {
  std::optional<std::uint32_t> action = run_filter(program, length, data);
  if (!action) throw std::runtime_error("no program that seccomp takes");
  return *action;
}

}  // namespace oncelatch::sandbox
