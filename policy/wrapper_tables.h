// Programs that run another command given in their own words, as data: wrappers, shells, and programs whose sub-command
// stands behind global options.
//
// Ownership: static tables. Threads: constant. Failure: none. After fork: safe.
#pragma once

#include <string_view>

namespace oncelatch::policy {

// Option letters are single ones ("-u root", "-uroot"); long options are separated by blanks, without their dashes.
struct Wrapper {
  std::string_view name;
  std::string_view value_letters;  // letters that take a value
  std::string_view flag_letters;
  std::string_view value_options;
  std::string_view flag_options;
  std::string_view text_letters;  // letters whose value is shell text
  std::string_view text_options;
  unsigned operands;  // own operands before the command
  bool assignments;   // NAME=value words may stand before the command
  bool transparent;   // changes nothing that matters for allowing: the inner command decides
  std::string_view help;
};
[[nodiscard]] const Wrapper* find_wrapper(std::string_view program);

// Shells that take commands by -c or on their input.
[[nodiscard]] bool is_shell(std::string_view program);

// Global options with a value before the sub-command: `git -C dir push` is `git push`.
struct GlobalOptions {
  std::string_view name;
  std::string_view value_letters;
  std::string_view value_options;
  std::string_view help;
};
[[nodiscard]] const GlobalOptions* find_global_options(std::string_view program);

// `options` has the blank-separated word.
[[nodiscard]] bool has_word(std::string_view options, std::string_view word);
// The last component of a path.
[[nodiscard]] std::string_view program_name(std::string_view word);

}  // namespace oncelatch::policy
