// Escaped text is valid UTF-8 without controls, and nothing of it is escaped a second time but the backslashes.
#include <cstdint>
#include <cstdlib>

#include "base/untrusted.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string shown = escape_for_display(text, size);
  if (!valid_utf8(shown)) std::abort();
  for (char c : shown) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) std::abort();
  }
  std::size_t backslashes = 0;
  for (char c : shown) backslashes += c == '\\' ? 1 : 0;
  if (escape_for_display(shown, shown.size()).size() != shown.size() + backslashes) std::abort();
  std::string clipped = escape_for_display(text, size / 2);
  if (!valid_utf8(clipped) || (size > 1 && valid_utf8(text) && clipped.size() > shown.size() + 32)) std::abort();
  if (display_width(shown) > shown.size()) std::abort();
  return 0;
}
