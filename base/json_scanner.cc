#include "base/json_scanner.h"

#include <algorithm>

#include "base/untrusted.h"

namespace oncelatch {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t c) {
  auto byte = [&out](std::uint32_t value) { out += static_cast<char>(static_cast<unsigned char>(value)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | (c >> 6));
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3F));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

}  // namespace

const char* JsonScanner::scan() {
  if (text_.size() > bounds_.bytes) return "more bytes than allowed";
  do {
    if (const char* problem = step()) return problem;
  } while (!stack_.empty());
  skip_space();
  return at_end() ? nullptr : "text after the value";
}

const char* JsonScanner::step() {
  skip_space();
  if (at_end()) return "ends too early";
  char c = text_[at_];
  switch (expect_) {
    case Expect::separator:
      return separator(c);
    case Expect::key_or_end:
      return c == '}' ? close() : key();
    case Expect::key:
      return key();
    case Expect::value_or_end:
      return c == ']' ? close() : value(c);
    case Expect::value:
      return value(c);
  }
  return "internal state";
}

const char* JsonScanner::value(char c) {
  if (++nodes_ > bounds_.nodes) return "more values than allowed";
  expect_ = Expect::separator;
  switch (c) {
    case '{':
      return open(true);
    case '[':
      return open(false);
    case '"':
      return string(nullptr);
    case 't':
      return literal("true");
    case 'f':
      return literal("false");
    case 'n':
      return literal("null");
    default:
      return number();
  }
}

const char* JsonScanner::open(bool object) {
  if (stack_.size() >= bounds_.depth) return "nested deeper than allowed";
  stack_.push_back({object, keys_.size()});
  expect_ = object ? Expect::key_or_end : Expect::value_or_end;
  ++at_;
  return nullptr;
}

const char* JsonScanner::close() {
  const Frame frame = stack_.back();
  if (frame.object) {
    if (const char* problem = duplicate_key(frame.first_key)) return problem;
    keys_.resize(frame.first_key);
  }
  stack_.pop_back();
  expect_ = Expect::separator;
  ++at_;
  return nullptr;
}

const char* JsonScanner::separator(char c) {
  bool object = stack_.back().object;
  if (c == (object ? '}' : ']')) return close();
  if (c != ',') return object ? "expected ',' or '}'" : "expected ',' or ']'";
  ++at_;
  expect_ = object ? Expect::key : Expect::value;
  return nullptr;
}

const char* JsonScanner::key() {
  if (!next_is('"')) return "expected a key in double quotes";
  std::size_t start = at_;
  std::string decoded;
  if (const char* problem = string(&decoded)) return problem;
  std::string_view name = text_.substr(start + 1, at_ - start - 2);
  if (name.find('\\') != std::string_view::npos) {
    unescaped_.push_back(std::move(decoded));
    name = unescaped_.back();
  }
  keys_.push_back({name, start});
  skip_space();
  if (!next_is(':')) return "expected ':'";
  ++at_;
  expect_ = Expect::value;
  return nullptr;
}

const char* JsonScanner::duplicate_key(std::size_t first) {
  auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, keys_.end(),
            [](const Key& a, const Key& b) { return a.name != b.name ? a.name < b.name : a.at < b.at; });
  auto found = std::adjacent_find(begin, keys_.end(), [](const Key& a, const Key& b) { return a.name == b.name; });
  if (found == keys_.end()) return nullptr;
  at_ = std::next(found)->at;
  return "duplicate key";
}

// Stands on the opening quote; ends after the closing one.
const char* JsonScanner::string(std::string* decoded) {
  std::size_t start = ++at_;
  while (!at_end() && text_[at_] != '"') {
    char c = text_[at_];
    if (static_cast<unsigned char>(c) < 0x20) return "control character in a string";
    if (c == '\\') {
      if (const char* problem = escape(decoded)) return problem;
      continue;
    }
    if (decoded != nullptr) *decoded += c;
    ++at_;
  }
  if (at_end()) return "string without an end";
  if (!valid_utf8(text_.substr(start, at_ - start))) return "invalid UTF-8 in a string";
  ++at_;
  return nullptr;
}

const char* JsonScanner::escape(std::string* decoded) {
  static constexpr std::string_view kLetters = "\"\\/bfnrt";
  static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (at_ + 1 >= text_.size()) return "string without an end";
  char letter = text_[at_ + 1];
  if (letter == 'u') return unicode_escape(decoded);
  std::size_t index = kLetters.find(letter);
  if (index == std::string_view::npos) return "unknown escape in a string";
  if (decoded != nullptr) *decoded += kMeanings[index];
  at_ += 2;
  return nullptr;
}

const char* JsonScanner::unicode_escape(std::string* decoded) {
  std::uint32_t unit = 0;
  if (const char* problem = hex4(&unit)) return problem;
  if (unit >= 0xDC00 && unit <= 0xDFFF) return "lone surrogate";
  if (unit >= 0xD800 && unit <= 0xDBFF) {
    std::uint32_t low = 0;
    if (text_.substr(at_, 2) != "\\u") return "lone surrogate";
    if (const char* problem = hex4(&low)) return problem;
    if (low < 0xDC00 || low > 0xDFFF) return "lone surrogate";
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  if (decoded != nullptr) append_utf8(*decoded, unit);
  return nullptr;
}

// Stands on the backslash of \uXXXX; ends after it.
const char* JsonScanner::hex4(std::uint32_t* unit) {
  if (text_.size() - at_ < 6) return "string without an end";
  for (std::size_t i = 2; i < 6; ++i) {
    int digit = hex_value(text_[at_ + i]);
    if (digit < 0) return "malformed \\u escape";
    *unit = *unit * 16 + static_cast<std::uint32_t>(digit);
  }
  at_ += 6;
  return nullptr;
}

const char* JsonScanner::digits() {
  if (at_end() || !is_digit(text_[at_])) return "malformed value";
  while (!at_end() && is_digit(text_[at_])) ++at_;
  return nullptr;
}

const char* JsonScanner::number() {
  if (next_is('-')) ++at_;
  if (next_is('0')) {
    ++at_;
    if (!at_end() && is_digit(text_[at_])) return "number with a leading zero";
  } else if (const char* problem = digits()) {
    return problem;
  }
  if (next_is('.')) {
    ++at_;
    if (const char* problem = digits()) return problem;
  }
  if (next_is('e') || next_is('E')) {
    ++at_;
    if (next_is('+') || next_is('-')) ++at_;
    if (const char* problem = digits()) return problem;
  }
  return nullptr;
}

const char* JsonScanner::literal(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return "malformed value";
  at_ += word.size();
  return nullptr;
}

void JsonScanner::skip_space() {
  while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
}

}  // namespace oncelatch
