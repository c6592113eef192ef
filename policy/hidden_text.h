// Characters that a reader can't see or that reorder what is seen.
//
//   if (std::string why = hidden_text(subject.bytes()); !why.empty()) ...  // "control-character"
//
// Ownership: values. Threads: no state. Failure: none. After fork: allocates.
#pragma once

#include <string>
#include <string_view>

namespace oncelatch::policy {

// Why `text` isn't plainly visible: "invalid-utf8", "control-character" (tab and newline included) or
// "hidden-character" (format, private, unassigned, ignorable, blank but not U+0020); empty when it is.
[[nodiscard]] std::string hidden_text(std::string_view text);

}  // namespace oncelatch::policy
