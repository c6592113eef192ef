// The environment of a command in the sandbox: built from nothing, with the reason for every name.
//
//   CommandEnvironment made = TRY(command_environment(caller, options, {.home = "/home/agent", .path = "/usr/bin"}));
//   plan.environment = made.variables;
//
// Ownership: values. Threads: any. Failure: Error of stage "command line" for a name that can't be set. Values are
// never shown; names are. After fork: allocates. Part of the light program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/exec/options.h"

namespace oncelatch::launcher {

struct CommandEnvironment {
  std::vector<std::string> variables;  // "NAME=value", whole
  std::vector<std::string> set;        // names set by the launcher or by --env
  std::vector<std::string> passed;     // names of the caller that were passed
  std::vector<std::string> dropped;    // names of the caller that were not
  std::vector<std::string> warnings;   // for stderr and the report
};

struct CommandPlaces {
  std::string home;
  std::string path;
  std::vector<std::string> toolchain_variables;  // "NAME=value"
  bool ci = false;
};

[[nodiscard]] Result<CommandEnvironment> command_environment(const std::vector<std::string>& caller,
                                                             const ExecOptions& options, const CommandPlaces& places);

// Harmless and useful: terminal, language, time zone, user's name.
[[nodiscard]] bool is_plain_variable(std::string_view name);
// Makes a loader, shell, interpreter or git run or load something: never passed by a pattern.
[[nodiscard]] bool loads_code(std::string_view name);
// Names a file of certificates, which is of no use where it can't be read.
[[nodiscard]] bool names_certificates(std::string_view name);
// Value of a variable, empty when unset.
[[nodiscard]] std::string value_of(const std::vector<std::string>& environment, std::string_view name);

}  // namespace oncelatch::launcher
