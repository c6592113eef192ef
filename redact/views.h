// What a text becomes when it is decoded.
//
//   std::vector<std::string> found = percent_candidates("a%2520b");   // {"a%20b", "a b"}
//
// Ownership: results own their bytes. Threads: no state. Failure: nullopt when the bound on views is reached.
// After fork: allocates. Internal to redact/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::redact {

// The rule's own candidates: up to four levels, each of a text and of its copy with '+' as a space.
[[nodiscard]] std::vector<std::string> percent_candidates(std::string_view text);

// Beyond the rule: percent, form, JSON and HTML decoding in any order, up to six levels, the text itself left out.
[[nodiscard]] std::optional<std::vector<std::string>> decoded_views(std::string_view text);

}  // namespace oncelatch::redact
