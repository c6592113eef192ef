// What programs can do beyond looking at their operands, as data: options that run another program or write a file,
// interpreters, builtins that change the shell, and variables that change what later programs do.
//
// Ownership: static tables. Threads: constant. Failure: none. After fork: safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/glob.h"
#include "policy/shell_grammar.h"

namespace oncelatch::policy {

// Options are blank-separated, spelled with their dashes:
//   "--long"   abbreviations too, alone or with "=value"
//   "-x"       also inside a cluster of letters
//   "-word"    "-word" and "--word" in full, alone or with "=value"
//   "word"     exact
//   "prefix*"  what begins so ("-word*" with two dashes as well); "*part*": what holds it
//   "="        NAME=value, with any name
struct RiskyOptions {
  std::string_view programs;    // blank-separated, without a version suffix: python3.11 is "python"
  std::string_view subcommand;  // empty: any
  std::string_view options;
  std::string_view value_letters;  // letters that end a cluster, since the rest is their value; or kNoClusters
  std::string_view help;
};
inline constexpr std::string_view kAnyAssignment = "=";
// The program has no clusters: "-o" is read like "-word".
inline constexpr std::string_view kNoClusters = "*";

enum class Operands { none, any, from_second, program_text };
struct RiskyOperands {
  std::string_view program;
  Operands which;
  std::string_view help;
};

[[nodiscard]] const std::vector<RiskyOptions>& risky_options();
[[nodiscard]] const RiskyOperands* risky_operands(std::string_view program);
// Reads a program text from its input when it is given no operand.
[[nodiscard]] bool is_interpreter(std::string_view program);
// "python3.11" -> "python"; "sh" -> "sh".
[[nodiscard]] std::string_view without_version(std::string_view program);

[[nodiscard]] bool is_state_changing_builtin(std::string_view program);
// LD_PRELOAD and its like: refused whatever the rules say.
[[nodiscard]] bool is_loader_variable(std::string_view assignment);

// Doesn't open its operands as files.
[[nodiscard]] bool only_prints(std::string_view program);
// Writes, moves or removes the files it is given.
[[nodiscard]] bool writes_operands(std::string_view program);

}  // namespace oncelatch::policy
