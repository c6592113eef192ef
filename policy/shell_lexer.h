// The strict lexer of the shell grammar in which something can be allowed: bare words, '…', "…" without $ ` \ !,
// backslash before a printable character, and the operators && || ; |. Everything else is opaque, with a named reason.
//
//   ShellTokens lexed = lex_shell("git status && ls", Stars::opaque);
//   if (!lexed.opaque.empty()) ...  // "expansion", "redirection", …
//
// Ownership: values. Threads: no state. Failure: the opaque reason. Units: bytes. After fork: allocates.
// Source: POSIX.1-2017 XCU 2.2, 2.3, 2.10, cut down to what bash, dash and zsh read alike.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::policy {

inline constexpr std::size_t kMostShellBytes = std::size_t{64} << 10;

struct ShellToken {
  enum class Kind { word, and_if, or_if, semicolon, pipe };
  Kind kind = Kind::word;
  std::string text;  // of a word, after quote removal
};

struct ShellTokens {
  std::string opaque;  // why the text isn't in the grammar; empty: it is
  std::vector<ShellToken> tokens;
};

// A bare '*' makes a command opaque. In a rule's pattern it is the wildcard; words are then in glob form (glob.h).
enum class Stars { opaque, wildcard };

[[nodiscard]] ShellTokens lex_shell(std::string_view text, Stars stars);

}  // namespace oncelatch::policy
