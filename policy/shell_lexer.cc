#include "policy/shell_lexer.h"

#include <array>
#include <utility>

#include "policy/hidden_text.h"

namespace oncelatch::policy {
namespace {

constexpr std::string_view kBarePunctuation = "_-./:,+@%=^";
constexpr std::string_view kNotFirst = "=^";  // zsh expands =word and, with extended globs, ^word

struct Refusal {
  char character;
  std::string_view reason;
};
constexpr std::array<Refusal, 17> kRefusals{{{'$', "expansion"},
                                             {'`', "substitution"},
                                             {'<', "redirection"},
                                             {'>', "redirection"},
                                             {'&', "background"},
                                             {'(', "group"},
                                             {')', "group"},
                                             {'*', "glob"},
                                             {'?', "glob"},
                                             {'[', "glob"},
                                             {']', "glob"},
                                             {'{', "brace"},
                                             {'}', "brace"},
                                             {'~', "tilde"},
                                             {'#', "comment"},
                                             {'!', "history"},
                                             {'\\', "escape"}}};

std::string_view refusal_of(char character) {
  for (const Refusal& refusal : kRefusals) {
    if (refusal.character == character) return refusal.reason;
  }
  return "character";
}

bool is_bare(char character) {
  const bool letter = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
  const bool digit = character >= '0' && character <= '9';
  return letter || digit || static_cast<unsigned char>(character) >= 0x80 ||
         kBarePunctuation.find(character) != std::string_view::npos;
}

class StrictLexer {
 public:
  StrictLexer(std::string_view text, Stars stars) : text_(text), stars_(stars) {}

  ShellTokens run() && {
    while (result_.opaque.empty() && at_ < text_.size()) step();
    end_word();
    return std::move(result_);
  }

 private:
  void step() {
    const char character = text_[at_];
    if (character == ' ') return separate(1);
    if (character == ';') return operate(ShellToken::Kind::semicolon, 1);
    if (character == '|')
      return next_is('|') ? operate(ShellToken::Kind::or_if, 2) : operate(ShellToken::Kind::pipe, 1);
    if (character == '&' && next_is('&')) return operate(ShellToken::Kind::and_if, 2);
    if (character == '\'') return single_quoted();
    if (character == '"') return double_quoted();
    if (character == '\\') return escaped();
    bare(character);
  }

  bool next_is(char character) const { return at_ + 1 < text_.size() && text_[at_ + 1] == character; }

  void separate(std::size_t length) {
    end_word();
    at_ += length;
  }

  void operate(ShellToken::Kind kind, std::size_t length) {
    separate(length);
    result_.tokens.push_back({kind, {}});
  }

  void end_word() {
    if (in_word_) result_.tokens.push_back({ShellToken::Kind::word, std::exchange(word_, {})});
    in_word_ = false;
  }

  // One character that stands for itself.
  void literal(char character) {
    if (stars_ == Stars::wildcard && (character == '*' || character == '\\')) word_ += '\\';
    word_ += character;
    in_word_ = true;
  }

  void bare(char character) {
    const bool first = !in_word_;
    ++at_;
    if (character == '*' && stars_ == Stars::wildcard) {
      word_ += '*';
      in_word_ = true;
    } else if (is_bare(character) && !(first && kNotFirst.find(character) != std::string_view::npos)) {
      literal(character);
    } else {
      result_.opaque = refusal_of(character);
    }
  }

  void escaped() {
    if (at_ + 1 >= text_.size()) {
      result_.opaque = "escape";
      return;
    }
    literal(text_[at_ + 1]);
    at_ += 2;
  }

  void single_quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) {
      result_.opaque = "unterminated-quote";
      return;
    }
    in_word_ = true;
    for (const char character : text_.substr(at_ + 1, end - at_ - 1)) literal(character);
    at_ = end + 1;
  }

  void double_quoted() {
    const std::size_t end = text_.find_first_of("\"$`\\!", at_ + 1);
    if (end == std::string_view::npos || text_[end] != '"') {
      result_.opaque = end == std::string_view::npos ? "unterminated-quote" : refusal_of(text_[end]);
      return;
    }
    in_word_ = true;
    for (const char character : text_.substr(at_ + 1, end - at_ - 1)) literal(character);
    at_ = end + 1;
  }

  std::string_view text_;
  Stars stars_;
  std::size_t at_ = 0;
  bool in_word_ = false;
  std::string word_;
  ShellTokens result_;
};

ShellTokens opaque(std::string reason) {
  ShellTokens result;
  result.opaque = std::move(reason);
  return result;
}

}  // namespace

ShellTokens lex_shell(std::string_view text, Stars stars) {
  if (text.size() > kMostShellBytes) return opaque("too-long");
  if (std::string why = hidden_text(text); !why.empty()) return opaque(std::move(why));
  ShellTokens result = StrictLexer(text, stars).run();
  if (!result.opaque.empty()) result.tokens.clear();
  return result;
}

}  // namespace oncelatch::policy
