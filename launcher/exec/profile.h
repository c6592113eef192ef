// Profiles of `oncelatch exec`: what the options start from. Own profiles are YAML files; oncelatch-session turns one
// into options on top of one of these (launcher/profile_file.h).
//
//   const ExecProfile* profile = find_profile("ci");
//
// Ownership: constants. Threads: any. Failure: nullptr for an unknown name. Units: seconds, bytes.
// After fork: safe. Part of the light program.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "launcher/exec/options.h"

namespace oncelatch::launcher {

struct ExecProfile {
  std::string_view name;
  std::string_view help;
  Toolchains toolchains = Toolchains::automatic;
  std::uint64_t seconds = 0;          // 0: no limit
  bool runner_commands = false;       // true: lines that a CI runner would obey are shown, not obeyed
  bool control_groups = false;        // true: also where the command names no memory limit
  std::uint64_t memory_percent = 75;  // of the machine's memory
  sandbox::HeldNames held = sandbox::HeldNames::report;
  bool hold_builds = false;  // where they aren't only reported: names that every build writes as well
};

// That part of this machine's memory, in bytes; 0 where the machine doesn't say.
[[nodiscard]] std::uint64_t memory_share(std::uint64_t percent);
[[nodiscard]] const ExecProfile* find_profile(std::string_view name);
[[nodiscard]] std::vector<std::string_view> profile_names();

}  // namespace oncelatch::launcher
