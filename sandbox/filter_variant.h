// Which of the generated filters a plan gets: exactly one is loaded.
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
};

inline constexpr unsigned kFilterVariants = 6;

constexpr unsigned filter_variant(const FilterVariant& variant) {
  unsigned network = variant.host_network ? 4 : 2;
  return (variant.ptrace ? 1U : 0U) + (variant.landlock_tier ? network : 0U);
}

constexpr FilterVariant filter_variant_of(unsigned index) {
  return {.ptrace = index % 2 == 1, .landlock_tier = index >= 2, .host_network = index >= 4};
}

}  // namespace oncelatch::sandbox
