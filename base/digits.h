// Numbers as text without a formatting library: for the sources that the light program shares (docs/ARCHITECTURE.md).
//
//   "\\x" + hexadecimal(byte, 2)        // "\x1b"
//
// Ownership: values. Threads: no state. Failure: none. After fork: allocates.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace oncelatch {

// In `base`, at least `least` digits.
[[nodiscard]] inline std::string digits(std::uint64_t value, int base, std::size_t least) {
  char text[64];
  const char* end = std::to_chars(text, text + sizeof text, value, base).ptr;
  std::string result(text, static_cast<std::size_t>(end - text));
  if (result.size() < least) result.insert(0, least - result.size(), '0');
  return result;
}
[[nodiscard]] inline std::string hexadecimal(std::uint64_t value, std::size_t least = 1) {
  return digits(value, 16, least);
}
[[nodiscard]] inline std::string octal(std::uint64_t value, std::size_t least = 1) {
  return digits(value, 8, least);
}

}  // namespace oncelatch
