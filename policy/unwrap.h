// Which command a wrapper or shell runs, from its own words.
//
//   Unwrapped inner = unwrap({"timeout", "-s", "KILL", "5m", "git", "push"});  // starts {4}, known
//
// Ownership: values. Threads: no state. Failure: none; `known` is false when an option isn't in the table, and then
// every place where the command may start is named. After fork: allocates.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policy/shell_grammar.h"

namespace oncelatch::policy {

struct Unwrapped {
  bool wrapper = false;                 // argv[0] runs another command
  bool known = true;                    // every option is in the table
  bool transparent = false;             // known, and the one inner command alone may decide
  std::vector<std::size_t> starts;      // where the inner command may begin in argv
  std::vector<std::string> texts;       // shell texts it runs
  std::vector<std::size_t> text_words;  // and the words they stand in
  std::vector<std::string> assignments;
  bool reads_commands = false;  // takes commands from its input
};

[[nodiscard]] Unwrapped unwrap(const Argv& argv);

// argv without global options before its sub-command; equal to argv where there are none.
[[nodiscard]] Argv without_global_options(const Argv& argv);
// Index of the sub-command, or argv.size().
[[nodiscard]] std::size_t subcommand_index(const Argv& argv);

// "-", "/dev/stdin" and their like.
[[nodiscard]] bool is_standard_input(std::string_view word);
// NAME=value or NAME+=value.
[[nodiscard]] bool is_assignment(std::string_view word);

}  // namespace oncelatch::policy
