// The strict grammar: simple commands joined by && || ; | and nothing else. Only a line in it can be allowed.
//
//   ShellLine line = parse_shell("git status && ls -l");
//   if (line.opaque.empty()) for (const auto& argv : line.members) ...
//
// Ownership: values. Threads: no state. Failure: the opaque reason. Units: members. After fork: allocates.
// What a shell would run in an opaque line is searched by shell_search.h, for rules that ask or deny.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::policy {

inline constexpr std::size_t kMostMembers = 4096;

using Argv = std::vector<std::string>;

struct ShellLine {
  std::string opaque;         // "expansion", "reserved-word", …; empty: in the grammar
  std::vector<Argv> members;  // after quote removal, never empty ones; none when opaque
};

[[nodiscard]] ShellLine parse_shell(std::string_view text);

// Text that parse_shell reads as the same argv; what a person is shown as the member.
[[nodiscard]] std::string quote_word(std::string_view word);
[[nodiscard]] std::string quote_command(const Argv& argv);

}  // namespace oncelatch::policy
