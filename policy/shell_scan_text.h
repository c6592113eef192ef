// Pieces of the tolerant scanner that need no state: where a substitution ends and what $'…' says.
//
// Ownership: views for the call. Threads: no state. Failure: none; a missing end is the end of the text. After fork:
// allocates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace oncelatch::policy {

struct Enclosed {
  std::string inner;
  std::size_t end;  // index after the closing character
};

// `at` is the index after the opening one; quotes and nesting are respected.
[[nodiscard]] Enclosed enclosed_until(std::string_view text, std::size_t at, char open, char close);
// `at` is the index after the opening backtick; \` \\ and \$ lose their backslash.
[[nodiscard]] Enclosed backtick_text(std::string_view text, std::size_t at);
// `at` is the index after $'.
[[nodiscard]] Enclosed ansi_c_text(std::string_view text, std::size_t at);

}  // namespace oncelatch::policy
