#include "text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

namespace kiro {
namespace {

struct Span {
  char32_t first;
  char32_t last;
};

constexpr std::array kWide = {
    Span{0x1100, 0x115F},   Span{0x231A, 0x231B},  Span{0x2329, 0x232A}, Span{0x23E9, 0x23EC},   Span{0x25FD, 0x25FE},
    Span{0x2614, 0x2615},   Span{0x26A1, 0x26A1},  Span{0x2705, 0x2705}, Span{0x2728, 0x2728},   Span{0x274C, 0x274C},
    Span{0x2E80, 0x303E},   Span{0x3041, 0xA4CF},  Span{0xA960, 0xA97F}, Span{0xAC00, 0xD7A3},   Span{0xF900, 0xFAFF},
    Span{0xFE30, 0xFE6F},   Span{0xFF00, 0xFF60},  Span{0xFFE0, 0xFFE6}, Span{0x1F300, 0x1F64F}, Span{0x1F680, 0x1F6FF},
    Span{0x1F900, 0x1F9FF}, Span{0x20000, 0x3FFFD}};
constexpr std::array kNarrowest = {
    Span{0x0300, 0x036F}, Span{0x0483, 0x0489}, Span{0x0591, 0x05BD}, Span{0x0610, 0x061A},
    Span{0x064B, 0x065F}, Span{0x0E31, 0x0E31}, Span{0x0E34, 0x0E3A}, Span{0x0E47, 0x0E4E},
    Span{0x1AB0, 0x1AFF}, Span{0x200B, 0x200F}, Span{0x202A, 0x202E}, Span{0x2060, 0x2069},
    Span{0x20D0, 0x20FF}, Span{0xFE00, 0xFE0F}, Span{0xFEFF, 0xFEFF}, Span{0xE0100, 0xE01EF}};

template <std::size_t N>
bool within(const std::array<Span, N>& spans, char32_t point) {
  return std::any_of(spans.begin(), spans.end(),
                     [point](const Span& span) { return point >= span.first && point <= span.last; });
}

std::size_t point_width(char32_t point) {
  if (point < 0x20 || (point >= 0x7F && point < 0xA0)) return 0;
  if (point < 0x300) return 1;
  if (within(kNarrowest, point)) return 0;
  return within(kWide, point) ? 2 : 1;
}

// The bytes of the character that starts at `at`; a broken sequence counts as one byte.
std::string_view character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  std::size_t size = lead < 0xC2 ? 1U : lead < 0xE0 ? 2U : lead < 0xF0 ? 3U : lead < 0xF5 ? 4U : 1U;
  if (at + size > text.size()) size = 1;
  for (std::size_t i = 1; i < size; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0U) != 0x80U) return text.substr(at, 1);
  }
  return text.substr(at, size);
}

char32_t point_of(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x80 ? lead : 0xFFFD;
  char32_t point = lead & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) {
    point = (point << 6U) | (static_cast<unsigned char>(character[i]) & 0x3FU);
  }
  return point;
}

class Wrapper {
 public:
  explicit Wrapper(std::size_t columns) : columns_(std::max<std::size_t>(columns, 1)) { rows_.emplace_back(); }

  void blank() {
    if (width_ >= columns_) next_row();
    rows_.back() += ' ';
    ++width_;
  }

  void word(std::string_view text) {
    const std::size_t size = display_width(text);
    if (size > columns_) return long_word(text, size);
    if (width_ + size > columns_ && width_ > 0 && size > 0) next_row();
    rows_.back() += text;
    width_ += size;
  }

  Lines take() { return std::move(rows_); }

 private:
  void next_row() {
    rows_.emplace_back();
    width_ = 0;
  }

  // Starts in the current row unless a fresh row saves a break.
  void long_word(std::string_view text, std::size_t size) {
    const std::size_t remaining = columns_ - width_;
    const std::size_t breaks_here = 1 + (size - remaining - 1) / columns_;
    const std::size_t breaks_next = (size - 1) / columns_;
    if (breaks_next < breaks_here) next_row();
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view character = character_at(text, at);
      const std::size_t width = point_width(point_of(character));
      if (width_ + width > columns_) next_row();
      rows_.back() += character;
      width_ += width;
      at += character.size();
    }
  }

  std::size_t columns_;
  std::size_t width_ = 0;
  Lines rows_;
};

Lines wrap_line(std::string_view text, std::size_t columns) {
  Wrapper wrapper(columns);
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(' ', at);
    wrapper.word(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return wrapper.take();
    wrapper.blank();
    at = end + 1;
  }
}

std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return std::min<std::size_t>(text.size(), 2);
  std::size_t at = 2;
  while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
  return std::min(at + 1, text.size());
}

}  // namespace

Micros monotonic_micros() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::int64_t epoch_millis() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::string iso_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> buffer{};
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {buffer.data(), size};
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\x1b') {
      at += escape_length(text.substr(at));
      continue;
    }
    const std::string_view character = character_at(text, at);
    width += point_width(point_of(character));
    at += character.size();
  }
  return width;
}

std::string repeated(std::string_view unit, std::size_t count) {
  std::string text;
  text.reserve(unit.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += unit;
  return text;
}

Lines split_lines(std::string_view text) {
  Lines lines;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('\n', at);
    lines.emplace_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return lines;
    at = end + 1;
  }
}

Lines wrap_words(std::string_view text, std::size_t columns) {
  Lines rows;
  for (const std::string& line : split_lines(text)) {
    for (std::string& row : wrap_line(line, columns)) rows.push_back(std::move(row));
  }
  return rows;
}

Lines wrap_with(std::string_view prefix, std::string_view text, std::size_t indent, std::size_t width,
                std::size_t pad_right) {
  const std::size_t used = indent + pad_right;
  Lines rows = wrap_words(text, width > used ? width - used : 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].insert(0, i == 0 ? std::string(prefix) : std::string(indent, ' '));
  }
  return rows;
}

std::string without_controls(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\x1b') {
      at += escape_length(text.substr(at));
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[at++]);
    if (byte == '\t') clean += ' ';
    if (byte == '\n' || (byte >= 0x20 && byte != 0x7F)) clean += static_cast<char>(byte);
  }
  return clean;
}

}  // namespace kiro
