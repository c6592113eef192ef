#include "launcher/exec/profile.h"

#include <sys/sysinfo.h>

namespace oncelatch::launcher {

namespace {

constexpr ExecProfile kProfiles[] = {
    {"workstation", "a person's machine: the toolchains of the home are shown, no time limit", Toolchains::automatic, 0,
     false, false, 75},
    {"ci", "a runner: no toolchains of the home, one hour, lines that the runner would obey are neutralised",
     Toolchains::none, 3600, true, true, 75},
    {"strict", "nothing of the home, ten minutes, half of the memory, no names that act outside later",
     Toolchains::none, 600, true, true, 50, sandbox::HeldNames::refuse, true},
};

}  // namespace

std::uint64_t memory_share(std::uint64_t percent) {
  struct sysinfo machine {};
  if (::sysinfo(&machine) != 0) return 0;
  return std::uint64_t{machine.totalram} * machine.mem_unit / 100 * percent;
}

const ExecProfile* find_profile(std::string_view name) {
  for (const ExecProfile& profile : kProfiles)
    if (profile.name == name) return &profile;
  return nullptr;
}

std::vector<std::string_view> profile_names() {
  std::vector<std::string_view> names;
  for (const ExecProfile& profile : kProfiles) names.push_back(profile.name);
  return names;
}

}  // namespace oncelatch::launcher
