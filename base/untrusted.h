// Text from the confined side: the agent's output and files, the recorder, the screen, the repository.
//
//   Untrusted title(raw);
//   fmt::print("{}\n", title.display(200));   // clipped, control, format and bidi characters made visible
//   if (title.bytes() == expected) ...         // comparing is allowed, printing bytes() is not
//
// Ownership: owns its bytes. Threads: a value. Failure: none; invalid UTF-8 is shown as \xNN. After fork: allocates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace oncelatch {

// Makes text safe for a terminal, log or page line: C0/C1 controls, DEL, line and paragraph separators, format
// characters (category Cf, so bidi overrides and zero-width ones), private-use, surrogates, unassigned and invalid
// bytes become visible escapes (\n, \t, \x1b, \u{202e}, \xff); a backslash becomes \\ so that the result is
// unambiguous. So do letters that draw nothing (fillers, variation selectors but U+FE0F) and every space but U+0020 and
// U+3000: a no-break space joins words. Clipped to `most` code points of the source; what was cut is announced by
// "…(+N)" with N code points. Combining marks beyond four on one base, or without a base, are escaped (no stacked-mark
// flooding).
[[nodiscard]] std::string escape_for_display(std::string_view text, std::size_t most);

class Untrusted {
 public:
  Untrusted() = default;
  explicit Untrusted(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] std::string display(std::size_t most = 1024) const { return escape_for_display(bytes_, most); }
  friend bool operator==(const Untrusted&, const Untrusted&) = default;

 private:
  std::string bytes_;
};

// Width in terminal cells (UAX #11 by utf8proc); invalid bytes count as one.
[[nodiscard]] std::size_t display_width(std::string_view utf8);

// True when the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] bool valid_utf8(std::string_view bytes);

}  // namespace oncelatch
