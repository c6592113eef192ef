// What the filter of a plan says of one system call, answered in user space from the very program that is loaded.
//
//   std::optional<CallAnswer> answer = ask_filter("ptrace", {.ptrace = false});
//   // answer->always_refused(): whatever the arguments; answer->rules: the groups that know it
//
// Ownership: values. Threads: any. Failure: nullopt for a name that this architecture doesn't have. After fork:
// allocates. Part of the light program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/filter_variant.h"

namespace oncelatch::sandbox {

using CallArguments = std::array<std::uint64_t, 6>;

// Arguments that reach nothing: every bit set, so no descriptor, pointer, process or flag.
inline constexpr std::uint64_t kHarmless = ~std::uint64_t{0};

struct CallRule {
  std::string group;
  std::string help;
  int error = 0;
  bool always = false;      // whatever the arguments
  CallArguments arguments;  // a call that it refuses, harmless otherwise
  int filter_error = 0;     // what the loaded program answers to that call; 0: lets it through
};

struct CallAnswer {
  std::uint32_t number = 0;
  std::vector<CallRule> rules;
  int plain_error = 0;  // what the loaded program answers to harmless arguments; 0: lets it through
  [[nodiscard]] bool always_refused() const;
  // The groups and the loaded program don't say the same.
  [[nodiscard]] bool contradicts() const;
};

[[nodiscard]] std::optional<std::uint32_t> call_number(std::string_view name);
[[nodiscard]] std::optional<CallAnswer> ask_filter(std::string_view name, const FilterVariant& variant);

}  // namespace oncelatch::sandbox
