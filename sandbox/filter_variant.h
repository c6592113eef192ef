// Which of the generated filters a process gets: exactly one is loaded. The process that guards a workspace has one of
// its own, kBrokerFilter.
//
//   const FilterProgram& program = kFilters[filter_variant({.ptrace = true})];
//
// Ownership, threads, failure: constants. After fork: safe; freestanding.
#pragma once

namespace oncelatch::sandbox {

struct FilterVariant {
  bool ptrace = false;         // ptrace(2) is let through: of its own children only, see the group "other-processes"
  bool landlock_tier = false;  // no namespaces: the filter also holds what they would
  bool host_network = false;   // of the Landlock tier: datagrams are let through (names of hosts)
  bool guard = false;          // of the full tier: what makes or writes in the workspace goes to the broker
};

inline constexpr unsigned kFilterVariants = 8;

constexpr unsigned filter_variant(const FilterVariant& variant) {
  const unsigned ptrace = variant.ptrace ? 1 : 0;
  if (variant.guard) return 6 + ptrace;
  if (variant.landlock_tier) return (variant.host_network ? 4 : 2) + ptrace;
  return ptrace;
}

constexpr FilterVariant filter_variant_of(unsigned index) {
  const bool ptrace = index % 2 == 1;
  if (index >= 6) return {.ptrace = ptrace, .guard = true};
  return {.ptrace = ptrace, .landlock_tier = index >= 2, .host_network = index >= 4};
}

}  // namespace oncelatch::sandbox
