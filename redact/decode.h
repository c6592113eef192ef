// One step of decoding each; text that has nothing to decode comes back as it is.
//
//   percent_decode("a%20b%QZ") == "a b%QZ"
//   json_unescape("say \\\"hi\\\"") == "say \"hi\""
//
// Ownership: results own their bytes. Threads: no state. Failure: none, malformed escapes stay literal. After fork:
// allocates. Internal to redact/.
#pragma once

#include <string>
#include <string_view>

namespace oncelatch::redact {

// Every maximal run of %HH as UTF-8 (invalid bytes become U+FFFD).
[[nodiscard]] std::string percent_decode(std::string_view text);
[[nodiscard]] std::string plus_to_space(std::string_view text);
// Escapes of JSON strings, wherever they stand; \xNN too.
[[nodiscard]] std::string json_unescape(std::string_view text);
// &amp; &lt; &gt; &quot; &apos; and numeric references.
[[nodiscard]] std::string html_unescape(std::string_view text);

[[nodiscard]] bool has_percent_escape(std::string_view text);

}  // namespace oncelatch::redact
