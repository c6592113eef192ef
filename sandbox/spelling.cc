#include "sandbox/spelling.h"

namespace oncelatch::sandbox {

namespace {

// One code point, or one byte where it isn't UTF-8.
std::uint32_t decode(const char*& at) {
  const auto first = static_cast<unsigned char>(*at);
  unsigned more = first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xc2 && first < 0xe0;
  std::uint32_t value = more == 0 ? first : first & (0x3fU >> more);
  for (unsigned i = 1; i <= more; ++i) {
    const auto next = static_cast<unsigned char>(at[i]);
    if ((next & 0xc0) != 0x80) {
      ++at;
      return first;
    }
    value = value << 6 | (next & 0x3f);
  }
  at += more + 1;
  return value;
}

// Default_Ignorable_Code_Point (Unicode's DerivedCoreProperties.txt): what a case-folding ext4 or f2fs leaves out of a
// comparison, and with it all that HFS+ does (git's utf8.c tells those from TN1150).
bool is_ignored(std::uint32_t character) {
  constexpr struct {
    std::uint32_t first, last;
  } kRanges[] = {{0xad, 0xad},       {0x34f, 0x34f},    {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
                 {0x180b, 0x180f},   {0x200b, 0x200f},  {0x202a, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
                 {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},  {0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3},
                 {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  if (character < kRanges[0].first) return false;
  for (const auto& range : kRanges)
    if (character >= range.first && character <= range.last) return true;
  return false;
}

// Unicode simple case folding, as far as it leads to ASCII; the full-width forms of ASCII too.
std::uint32_t folded(std::uint32_t character) {
  if (character >= 0xff01 && character <= 0xff5e) character -= 0xff01 - 0x21;
  if (character == 0x212a) return 'k';  // KELVIN SIGN
  if (character == 0x17f) return 's';   // LATIN SMALL LETTER LONG S
  return character >= 'A' && character <= 'Z' ? character + ('a' - 'A') : character;
}

// What is left of a component are dots and blanks, which Windows drops, or a stream's name behind a colon.
bool only_ending(const char* at) {
  if (*at == ':') return true;
  while (*at == '.' || *at == ' ') ++at;
  return *at == 0 || *at == '/';
}

}  // namespace

std::uint32_t next_character(const char*& at) {
  for (;;) {
    if (*at == 0 || *at == '/' || only_ending(at)) return kNoCharacter;
    const std::uint32_t character = folded(decode(at));
    if (!is_ignored(character)) return character;
  }
}

const char* component_end(const char* at) {
  while (*at != 0 && *at != '/') ++at;
  return at;
}

bool matches_component(const char* pattern, const char* name) {
  const char* star = nullptr;
  const char* retry = name;
  for (;;) {
    const bool pattern_ends = *pattern == 0 || *pattern == '/';
    if (*pattern == '*') {
      star = ++pattern;
      retry = name;
      continue;
    }
    const char* ahead = name;
    const std::uint32_t character = next_character(ahead);
    if (character == kNoCharacter && pattern_ends) return true;
    if (!pattern_ends && character == folded(static_cast<unsigned char>(*pattern))) {
      ++pattern;
      name = ahead;
      continue;
    }
    if (star == nullptr || next_character(retry) == kNoCharacter) return false;
    pattern = star;
    name = retry;
  }
}

}  // namespace oncelatch::sandbox
