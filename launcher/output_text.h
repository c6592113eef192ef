// The UTF-8 of a program's output: what may follow what, runs that can be copied as they are, and titles.
//
//   std::size_t run = plain_run(bytes);  // copy so many, look at the next one closer
//
// Ownership: values and views. Threads: any. Failure: none. After fork: yes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncelatch::launcher {

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// Bytes of the character that `lead` begins; 0 when it begins none.
[[nodiscard]] std::uint8_t character_length(unsigned char lead);
// Whether `byte` may stand at `index` (from 1) of a character that begins with `lead`. C2 80 to C2 9F, the C1 controls,
// are well formed.
[[nodiscard]] bool continues_character(unsigned char lead, std::size_t index, unsigned char byte);
[[nodiscard]] inline bool is_c1(unsigned char lead, unsigned char second) {
  return lead == 0xc2 && second < 0xa0;
}
// How many bytes at the front are printable characters, all there, or BS to CR.
[[nodiscard]] std::size_t plain_run(std::string_view bytes);
// `raw` without controls, invisible and bidirectional format characters, at most `most` characters of it.
[[nodiscard]] std::string clean_title(std::string_view raw, std::size_t most);

}  // namespace oncelatch::launcher
