// Spellings that some file system takes for the same name: other case, code points that are left out of a comparison or
// folded, NTFS streams, trailing dots and blanks.
//
//   matches_component(".git", ".GiT./hooks") == true;   matches_component("*.yml", "a.YML") == true;
//
// A component ends at "/" or at the text's end. Ownership: none. Threads: any. Failure: none; what isn't UTF-8 is
// compared byte by byte. After fork: safe; freestanding.
#pragma once

#include <cstdint>

namespace oncelatch::sandbox {

inline constexpr std::uint32_t kNoCharacter = 0xffffffff;  // end of a component

// The next character that counts, folded; `at` behind it.
[[nodiscard]] std::uint32_t next_character(const char*& at);
// Where the component that begins here ends.
[[nodiscard]] const char* component_end(const char* at);
// A component against one of a pattern, whose only wild card is "*".
[[nodiscard]] bool matches_component(const char* pattern, const char* name);

}  // namespace oncelatch::sandbox
