#include "launcher/output_text.h"

#include <array>

namespace oncelatch::launcher {
namespace {

constexpr std::array<bool, 256> plain_bytes() {
  std::array<bool, 256> plain{};
  for (unsigned byte = 0x08; byte <= 0x0d; ++byte) plain[byte] = true;
  for (unsigned byte = 0x20; byte <= 0x7e; ++byte) plain[byte] = true;
  return plain;
}

constexpr std::array<bool, 256> kPlain = plain_bytes();

unsigned char byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

// Length of the whole, well formed character at the front, else 0.
std::size_t whole_character(std::string_view bytes) {
  const unsigned char lead = byte_at(bytes, 0);
  if (lead < 0x80) return 1;
  const std::size_t length = character_length(lead);
  if (length == 0 || length > bytes.size()) return 0;
  for (std::size_t index = 1; index < length; ++index) {
    if (!continues_character(lead, index, byte_at(bytes, index))) return 0;
  }
  return length;
}

std::uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return byte_at(character, 0);
  std::uint32_t value = byte_at(character, 0) & (0x7fU >> character.size());
  for (std::size_t index = 1; index < character.size(); ++index)
    value = value << 6 | (byte_at(character, index) & 0x3fU);
  return value;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// Controls, format characters (category Cf), line and paragraph separators, private use.
constexpr Range kNotInTitles[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x0600, 0x0605},    {0x061c, 0x061c},
    {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x180e, 0x180e},   {0x200b, 0x200f},    {0x2028, 0x202e},
    {0x2060, 0x206f},   {0xe000, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},    {0x110bd, 0x110bd},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
};

bool may_stand_in_title(std::uint32_t value) {
  for (const Range& range : kNotInTitles) {
    if (value >= range.first && value <= range.last) return false;
  }
  return true;
}

}  // namespace

std::uint8_t character_length(unsigned char lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

bool continues_character(unsigned char lead, std::size_t index, unsigned char byte) {
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (index == 1) {  // no overlong forms, no surrogates, nothing beyond U+10FFFF
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  }
  return byte >= low && byte <= high;
}

std::size_t plain_run(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const unsigned char byte = byte_at(bytes, at);
    if (kPlain[byte]) {
      ++at;
      continue;
    }
    if (byte < 0x80) break;
    const std::size_t length = whole_character(bytes.substr(at));
    if (length == 0 || is_c1(byte, byte_at(bytes, at + 1))) break;
    at += length;
  }
  return at;
}

std::string clean_title(std::string_view raw, std::size_t most) {
  std::string title;
  for (std::size_t count = 0; !raw.empty() && count < most;) {
    const std::size_t length = whole_character(raw);
    if (length == 0) {
      title += kReplacementCharacter;
      ++count;
    } else if (may_stand_in_title(code_point(raw.substr(0, length)))) {
      title += raw.substr(0, length);
      ++count;
    }
    raw.remove_prefix(length == 0 ? 1 : length);
  }
  return title;
}

}  // namespace oncelatch::launcher
