#include "redact/decode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace oncelatch::redact {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `count` hexadecimal digits at `at`, or -1.
std::int32_t hex_number(std::string_view text, std::size_t at, std::size_t count) {
  if (at > text.size() || text.size() - at < count) return -1;
  std::int32_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    int digit = hex_value(text[at + i]);
    if (digit < 0) return -1;
    number = number * 16 + digit;
  }
  return number;
}

bool is_escape(std::string_view text, std::size_t at) {
  return text[at] == '%' && hex_number(text, at + 1, 2) >= 0;
}

void append_code_point(std::string& out, std::int32_t c) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  utf8proc_ssize_t size = utf8proc_codepoint_valid(c) ? utf8proc_encode_char(c, bytes.data()) : 0;
  if (size <= 0) {
    out += kReplacement;
  } else {
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
  }
}

void append_utf8(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    utf8proc_int32_t c = -1;
    utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                                               static_cast<utf8proc_ssize_t>(bytes.size()), &c);
    std::size_t size = length > 0 ? static_cast<std::size_t>(length) : 1;
    out += length > 0 ? bytes.substr(0, size) : kReplacement;
    bytes.remove_prefix(size);
  }
}

// \uXXXX at `at`, with its low surrogate where it has one; returns the bytes used, 0 when it is none.
std::size_t unicode_escape(std::string_view text, std::size_t at, std::string& out) {
  std::int32_t unit = hex_number(text, at + 2, 4);
  if (unit < 0) return 0;
  bool high = unit >= 0xD800 && unit <= 0xDBFF;
  if (high && text.substr(at + 6, 2) == "\\u") {
    std::int32_t low = hex_number(text, at + 8, 4);
    if (low >= 0xDC00 && low <= 0xDFFF) {
      append_code_point(out, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
      return 12;
    }
  }
  append_code_point(out, unit);
  return 6;
}

std::size_t backslash_escape(std::string_view text, std::size_t at, std::string& out) {
  static constexpr std::string_view kLetters = "\"\\/'bfnrt";
  static constexpr std::string_view kMeanings = "\"\\/'\b\f\n\r\t";
  if (at + 1 >= text.size()) return 0;
  char letter = text[at + 1];
  if (letter == 'u') return unicode_escape(text, at, out);
  if (letter == 'x') {
    std::int32_t byte = hex_number(text, at + 2, 2);
    if (byte < 0) return 0;
    out += static_cast<char>(byte);
    return 4;
  }
  std::size_t index = kLetters.find(letter);
  if (index == std::string_view::npos) return 0;
  out += kMeanings[index];
  return 2;
}

// Value of "#39" or "#x27", or -1.
std::int32_t numeric_reference(std::string_view name) {
  bool hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
  std::string_view digits = name.substr(std::min(name.size(), std::size_t{hex ? 2U : 1U}));
  if (digits.empty() || digits.size() > 7) return -1;
  std::int32_t number = 0;
  for (char c : digits) {
    int digit = hex_value(c);
    if (digit < 0 || (!hex && digit > 9)) return -1;
    number = number * (hex ? 16 : 10) + digit;
  }
  return number;
}

std::size_t html_reference(std::string_view text, std::size_t at, std::string& out) {
  static constexpr std::array<std::pair<std::string_view, char>, 5> kNamed = {
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  constexpr std::size_t kLongest = 12;
  std::size_t length = text.substr(at, kLongest).find(';');
  if (length == std::string_view::npos || length < 2) return 0;
  std::string_view name = text.substr(at + 1, length - 1);
  if (name[0] == '#') {
    std::int32_t number = numeric_reference(name);
    if (number < 0) return 0;
    append_code_point(out, number);
    return length + 1;
  }
  for (const auto& [word, meaning] : kNamed) {
    if (name != word) continue;
    out += meaning;
    return length + 1;
  }
  return 0;
}

using Escape = std::size_t (*)(std::string_view text, std::size_t at, std::string& out);

std::string unescape(std::string_view text, char sign, Escape escape) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t next = std::min(text.find(sign, at), text.size());
    out += text.substr(at, next - at);
    at = next;
    if (at == text.size()) break;
    std::size_t used = escape(text, at, out);
    if (used == 0) out += sign;
    at += std::max<std::size_t>(used, 1);
  }
  return out;
}

std::size_t percent_run(std::string_view text, std::size_t at, std::string& out) {
  std::string bytes;
  for (std::size_t i = at; i < text.size() && is_escape(text, i); i += 3) {
    bytes += static_cast<char>(hex_number(text, i + 1, 2));
  }
  append_utf8(out, bytes);
  return bytes.size() * 3;
}

}  // namespace

std::string percent_decode(std::string_view text) {
  return unescape(text, '%', percent_run);
}

std::string plus_to_space(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '+', ' ');
  return out;
}

std::string json_unescape(std::string_view text) {
  return unescape(text, '\\', backslash_escape);
}

std::string html_unescape(std::string_view text) {
  return unescape(text, '&', html_reference);
}

bool has_percent_escape(std::string_view text) {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    if (is_escape(text, at)) return true;
  }
  return false;
}

}  // namespace oncelatch::redact
