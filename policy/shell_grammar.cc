#include "policy/shell_grammar.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/shell_lexer.h"

namespace oncelatch::policy {
namespace {

// Of bash, dash and zsh, quoted or not.
constexpr std::array<std::string_view, 27> kReservedWords{
    "!",    "[[",        "]]",     "{",      "}",      "case", "coproc",  "do",       "done",
    "elif", "else",      "end",    "esac",   "fi",     "for",  "foreach", "function", "if",
    "in",   "nocorrect", "noglob", "repeat", "select", "then", "time",    "until",    "while"};

constexpr std::string_view kProgramPunctuation = "_-./:,+@%";

bool is_program_character(char character) {
  const bool letter = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
  const bool digit = character >= '0' && character <= '9';
  return letter || digit || kProgramPunctuation.find(character) != std::string_view::npos;
}

std::string refuse_program(std::string_view program) {
  if (std::find(kReservedWords.begin(), kReservedWords.end(), program) != kReservedWords.end()) return "reserved-word";
  if (program.find('=') != std::string_view::npos) return "assignment";
  if (program.empty() || !std::all_of(program.begin(), program.end(), is_program_character)) return "program-name";
  return {};
}

ShellLine opaque(std::string reason) {
  ShellLine line;
  line.opaque = std::move(reason);
  return line;
}

}  // namespace

ShellLine parse_shell(std::string_view text) {
  ShellTokens lexed = lex_shell(text, Stars::opaque);
  if (!lexed.opaque.empty()) return opaque(std::move(lexed.opaque));
  ShellLine line;
  Argv argv;
  ShellToken::Kind last = ShellToken::Kind::semicolon;
  for (ShellToken& token : lexed.tokens) {
    last = token.kind;
    if (token.kind == ShellToken::Kind::word) {
      argv.push_back(std::move(token.text));
      continue;
    }
    if (argv.empty()) return opaque("incomplete");
    line.members.push_back(std::exchange(argv, {}));
  }
  if (!argv.empty()) line.members.push_back(std::move(argv));
  if (line.members.empty()) return opaque("empty");
  if (last != ShellToken::Kind::word && last != ShellToken::Kind::semicolon) return opaque("incomplete");
  if (line.members.size() > kMostMembers) return opaque("too-many-members");
  for (const Argv& member : line.members) {
    if (std::string why = refuse_program(member.front()); !why.empty()) return opaque(std::move(why));
  }
  return line;
}

std::string quote_word(std::string_view word) {
  constexpr std::string_view kPlain = "_-./:,+@%=";
  const bool plain = !word.empty() && word.front() != '=' && std::all_of(word.begin(), word.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string quoted = "'";
  for (const char character : word) {
    if (character == '\'') {
      quoted += "'\\''";
    } else {
      quoted += character;
    }
  }
  return quoted + "'";
}

std::string quote_command(const Argv& argv) {
  std::string text;
  for (const std::string& word : argv) {
    if (!text.empty()) text += ' ';
    text += quote_word(word);
  }
  return text;
}

}  // namespace oncelatch::policy
