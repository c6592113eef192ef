#include "policy/shell_scan_text.h"

namespace oncelatch::policy {
namespace {

std::size_t skip_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += quote == '"' && text[at] == '\\' ? 2 : 1;
  return at + 1;
}

int digit_value(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return 99;
}

// Reads up to `most` digits of `base` from `at`.
unsigned number(std::string_view text, std::size_t& at, unsigned base, unsigned most) {
  unsigned value = 0;
  for (unsigned count = 0; count < most && at < text.size(); ++count, ++at) {
    const int digit = digit_value(text[at]);
    if (digit >= static_cast<int>(base)) break;
    value = value * base + static_cast<unsigned>(digit);
  }
  return value;
}

void append_utf8(std::string& out, unsigned code_point) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xe0 | ((code_point >> 12) & 0x0f));
    put(0x80 | ((code_point >> 6) & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

// `at` stands after the backslash.
void append_escape(std::string_view text, std::size_t& at, std::string& out) {
  constexpr std::string_view kNames = "abefnrtvE";
  constexpr std::string_view kValues = "\a\b\x1b\f\n\r\t\v\x1b";
  const char character = text[at];
  if (const std::size_t named = kNames.find(character); named != std::string_view::npos) {
    out += kValues[named];
    ++at;
  } else if (character >= '0' && character <= '7') {
    out += static_cast<char>(number(text, at, 8, 3));
  } else if (character == 'x') {
    out += static_cast<char>(number(text, ++at, 16, 2));
  } else if (character == 'u' || character == 'U') {
    append_utf8(out, number(text, ++at, 16, character == 'u' ? 4 : 8));
  } else {
    out += character;
    ++at;
  }
}

}  // namespace

Enclosed enclosed_until(std::string_view text, std::size_t at, char open, char close) {
  const std::size_t begin = at;
  std::size_t depth = 1;
  while (at < text.size()) {
    const char character = text[at];
    if (character == close && --depth == 0) return {std::string(text.substr(begin, at - begin)), at + 1};
    if (character == open) ++depth;
    if (character == '\'' || character == '"') {
      at = skip_quoted(text, at);
    } else {
      at += character == '\\' ? 2 : 1;
    }
  }
  return {std::string(text.substr(begin)), text.size()};
}

Enclosed backtick_text(std::string_view text, std::size_t at) {
  std::string inner;
  for (; at < text.size() && text[at] != '`'; ++at) {
    const bool escape = text[at] == '\\' && at + 1 < text.size();
    if (escape && std::string_view("`\\$").find(text[at + 1]) != std::string_view::npos) ++at;
    inner += text[at];
  }
  return {inner, at < text.size() ? at + 1 : at};
}

Enclosed ansi_c_text(std::string_view text, std::size_t at) {
  std::string inner;
  while (at < text.size() && text[at] != '\'') {
    if (text[at] == '\\' && at + 1 < text.size()) {
      append_escape(text, ++at, inner);
    } else {
      inner += text[at++];
    }
  }
  return {inner, at < text.size() ? at + 1 : at};
}

}  // namespace oncelatch::policy
