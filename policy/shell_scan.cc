#include "policy/shell_scan.h"

#include <algorithm>
#include <utility>

#include "policy/shell_grammar.h"
#include "policy/shell_scan_text.h"

namespace oncelatch::policy {
namespace {

enum class Target { none, read, write, both, input, duplicate };

struct HereDocument {
  std::string delimiter;
  bool quoted = false;
  bool tabs = false;  // <<-
};

class TolerantScanner {
 public:
  explicit TolerantScanner(std::string_view text) : text_(text) {}

  ScannedText run() && {
    while (at_ < text_.size() && !result_.cut) step();
    end_command();
    return std::move(result_);
  }

 private:
  char peek(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void step() {
    switch (text_[at_]) {
      case ' ':
      case '\t':
        end_word();
        ++at_;
        return;
      case '\n':
        end_command();
        ++at_;
        return here_documents();
      case ';':
      case '|':
      case '(':
      case ')':
        end_command();
        ++at_;
        return;
      case '&':
        return ampersand();
      case '<':
      case '>':
        return redirection();
      case '#':
        return in_word_ ? character() : comment();
      default:
        return character();
    }
  }

  void ampersand() {
    if (peek(1) == '>') {
      end_word();
      at_ += peek(2) == '>' ? 3 : 2;
      target_ = Target::write;
      return;
    }
    end_command();
    ++at_;
  }

  // bash ends a comment at the newline; a shell that knows no comments would run it.
  void comment() {
    end_word();
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    result_.nested.emplace_back(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end;
  }

  void redirection() {
    const char direction = text_[at_];
    if (peek(1) == '(') return process_substitution();
    drop_descriptor();
    end_word();
    if (direction == '<' && peek(1) == '<' && peek(2) != '<') return here_document();
    if (direction == '<' && peek(1) == '<') return redirect(Target::input, 3);
    if (peek(1) == '&') return redirect(direction == '<' ? Target::duplicate : Target::write, 2);
    if (direction == '<') return peek(1) == '>' ? redirect(Target::both, 2) : redirect(Target::read, 1);
    redirect(Target::write, peek(1) == '>' || peek(1) == '|' ? 2 : 1);
  }

  void redirect(Target target, std::size_t length) {
    target_ = target;
    at_ += length;
  }

  // 2> and {name}>: the word before is no argument.
  void drop_descriptor() {
    const bool digits = in_word_ && !quoted_ && word_.find_first_not_of("0123456789") == std::string::npos;
    const bool named = in_word_ && !quoted_ && word_.size() > 2 && word_.front() == '{' && word_.back() == '}';
    if (!digits && !named) return;
    word_.clear();
    plain_.clear();
    in_word_ = false;
  }

  void process_substitution() {
    Enclosed body = enclosed_until(text_, at_ + 2, '(', ')');
    take_nested(std::move(body), at_);
  }

  // Keeps the spelling in the word, so that it never equals a plain one.
  void take_nested(Enclosed body, std::size_t begin) {
    at_ = begin;
    add_expansion(body.end - begin);
    command_.nested.push_back(std::move(body.inner));
  }

  void here_document() {
    at_ += 2;
    HereDocument document;
    document.tabs = text_.substr(at_, 1) == "-";
    if (document.tabs) ++at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    constexpr std::string_view kEnds = " \t\n;&|<>()";
    while (at_ < text_.size() && kEnds.find(text_[at_]) == std::string_view::npos) delimiter(document);
    waiting_.push_back(std::move(document));
  }

  void delimiter(HereDocument& document) {
    const char quote = text_[at_++];
    if (quote == '\'' || quote == '"') {
      document.quoted = true;
      const std::size_t end = std::min(text_.find(quote, at_), text_.size());
      document.delimiter += text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
    } else if (quote == '\\' && at_ < text_.size()) {
      document.quoted = true;
      document.delimiter += text_[at_++];
    } else {
      document.delimiter += quote;
    }
  }

  void here_documents() {
    for (const HereDocument& document : std::exchange(waiting_, {})) {
      std::string body;
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        if (document.tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        if (line == document.delimiter) break;
        body += line;
        body += '\n';
      }
      if (!document.quoted) add_nested(result_.nested, substitutions_in(body));
      result_.input.push_back(std::move(body));
    }
  }

  static void add_nested(std::vector<std::string>& to, std::vector<std::string> from) {
    for (std::string& text : from) to.push_back(std::move(text));
  }

  void character() {
    switch (text_[at_]) {
      case '\'': {
        const std::size_t end = std::min(text_.find('\'', at_ + 1), text_.size());
        quote(text_.substr(at_ + 1, end - at_ - 1));
        at_ = std::min(end + 1, text_.size());
        return;
      }
      case '"':
        return double_quoted();
      case '\\':
        return escaped();
      case '`':
        return take_nested(backtick_text(text_, at_ + 1), at_);
      case '$':
        return dollar(false);
      default:
        add(text_.substr(at_++, 1));
    }
  }

  void add(std::string_view literal) {
    word_ += literal;
    plain_ += literal;
    in_word_ = true;
  }

  // As it is spelled; it may come to nothing.
  void add_expansion(std::size_t length) {
    word_ += text_.substr(at_, length);
    in_word_ = expanded_ = true;
    at_ += length;
  }

  void quote(std::string_view literal) {
    add(literal);
    quoted_ = true;
  }

  void escaped() {
    if (peek(1) == '\n') {
      at_ += 2;
      return;
    }
    if (at_ + 1 < text_.size()) quote(text_.substr(at_ + 1, 1));
    at_ += 2;
  }

  void double_quoted() {
    in_word_ = quoted_ = true;
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '`') {
        take_nested(backtick_text(text_, at_ + 1), at_);
      } else if (text_[at_] == '$') {
        dollar(true);
      } else if (text_[at_] == '\\') {
        double_quoted_escape();
      } else {
        add(text_.substr(at_++, 1));
      }
    }
    ++at_;
  }

  void double_quoted_escape() {
    constexpr std::string_view kEscapes = "$`\"\\";
    const char next = peek(1);
    if (kEscapes.find(next) == std::string_view::npos && next != '\n') add("\\");
    if (next != '\n' && at_ + 1 < text_.size()) add(text_.substr(at_ + 1, 1));
    at_ += 2;
  }

  void dollar(bool in_quotes) {
    const char next = peek(1);
    if (next == '(') return take_nested(enclosed_until(text_, at_ + 2, '(', ')'), at_);
    if (next == '{') return parameter(in_quotes);
    if (next == '\'' && !in_quotes) {
      Enclosed body = ansi_c_text(text_, at_ + 2);
      quote(body.inner);
      at_ = body.end;
      return;
    }
    if (text_.substr(at_, 4) == "$IFS" && !in_quotes) return blank(4);
    if (next == '"' && !in_quotes) {
      ++at_;
      return double_quoted();
    }
    add_expansion(1 + name_length(at_ + 1));
  }

  // Of the variable's name behind a '$'; 0 when the '$' is literal.
  std::size_t name_length(std::size_t at) const {
    constexpr std::string_view kSpecial = "@*#?$!-0123456789";
    if (at < text_.size() && kSpecial.find(text_[at]) != std::string_view::npos) return 1;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    std::size_t length = 0;
    while (at + length < text_.size() &&
           (letter(text_[at + length]) || (length > 0 && text_[at + length] >= '0' && text_[at + length] <= '9'))) {
      ++length;
    }
    return length;
  }

  void parameter(bool in_quotes) {
    Enclosed body = enclosed_until(text_, at_ + 2, '{', '}');
    add_nested(command_.nested, substitutions_in(body.inner));
    if (!in_quotes && body.inner.compare(0, 3, "IFS") == 0) return blank(body.end - at_);
    add_expansion(body.end - at_);
  }

  // An unquoted $IFS splits words.
  void blank(std::size_t length) {
    end_word();
    at_ += length;
  }

  void end_word() {
    if (!in_word_) return;
    std::string word = std::exchange(word_, {});
    if (target_ == Target::none) add_emptied();
    plain_.clear();
    in_word_ = quoted_ = expanded_ = false;
    switch (std::exchange(target_, Target::none)) {
      case Target::none:
        return command_.words.push_back(std::move(word));
      case Target::read:
        return command_.reads.push_back(std::move(word));
      case Target::write:
        return command_.writes.push_back(std::move(word));
      case Target::both:
        command_.reads.push_back(word);
        return command_.writes.push_back(std::move(word));
      case Target::input:
        return result_.input.push_back(std::move(word));
      case Target::duplicate:
        return;
    }
  }

  void add_emptied() {
    const bool braces = !quoted_ && plain_.size() > 2 && plain_.front() == '{' && plain_.back() == '}' &&
                        plain_.find(',') != std::string::npos;
    differs_ = differs_ || expanded_ || braces;
    if (!braces) {
      if (!plain_.empty() || !expanded_) command_.emptied.push_back(plain_);
      return;
    }
    for (std::size_t at = 1; at < plain_.size();) {
      const std::size_t end = plain_.find_first_of(",}", at);
      command_.emptied.push_back(plain_.substr(at, end - at));
      at = end + 1;
    }
  }

  void end_command() {
    end_word();
    target_ = Target::none;
    if (!std::exchange(differs_, false)) command_.emptied.clear();
    const bool any =
        !command_.words.empty() || !command_.reads.empty() || !command_.writes.empty() || !command_.nested.empty();
    if (any) result_.commands.push_back(std::exchange(command_, {}));
    result_.cut = result_.cut || result_.commands.size() > kMostMembers;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  std::string plain_;  // word_ without expansions
  bool in_word_ = false;
  bool expanded_ = false;
  bool differs_ = false;  // some word of the command differs from its plain form
  bool quoted_ = false;
  Target target_ = Target::none;
  ScannedCommand command_;
  std::vector<HereDocument> waiting_;
  ScannedText result_;
};

}  // namespace

ScannedText scan_shell(std::string_view text) {
  return TolerantScanner(text).run();
}

std::vector<std::string> substitutions_in(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    Enclosed body{{}, at + 1};
    if (text[at] == '\\') {
      at += 2;
      continue;
    }
    if (text[at] == '`') body = backtick_text(text, at + 1);
    if (text[at] == '$' && text.substr(at, 2) == "$(") body = enclosed_until(text, at + 2, '(', ')');
    if (!body.inner.empty()) found.push_back(std::move(body.inner));
    at = body.end;
  }
  return found;
}

}  // namespace oncelatch::policy
