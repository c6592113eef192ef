// Every command that a shell line may run as far as can be seen: members, substitutions, wrapped commands, -c strings,
// here-documents fed to a shell. For rules that ask or deny; nothing is allowed from it.
//
//   FoundCommands found = search_shell("sudo -u x git push");  // argv {"sudo", …} and {"git", "push"}
//
// Ownership: values. Threads: no state. Failure: none; `cut` tells that a bound was reached, and then nothing may be
// allowed. Units: bounds of 16 levels and 4,096 commands. After fork: allocates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/shell_grammar.h"

namespace oncelatch::policy {

struct FoundCommand {
  Argv argv;  // may be empty: only assignments or redirections
  std::vector<std::string> assignments;
  std::vector<std::string> reads;  // redirection targets
  std::vector<std::string> writes;
  std::size_t root = 0;  // ordinal of the command of the line that it belongs to
  bool top = false;      // it is that command
};

struct FoundCommands {
  std::vector<FoundCommand> commands;
  bool cut = false;
};

[[nodiscard]] FoundCommands search_shell(std::string_view text);

}  // namespace oncelatch::policy
