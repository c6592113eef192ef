// Versions as the vendor writes them: "2.21.0", "2.21.0-beta.1". Fit for the name of a directory.
//
//   if (!is_version(text)) return refuse();
//   if (compare_versions(asked, seen) < 0) return "a step back";
//
// Ownership: none. Threads: any. Failure: none. After fork: allocates nothing. Source: the vendor's manifest; the order
// is that of Semantic Versioning 2.0.0, section 11.
#pragma once

#include <string_view>

namespace oncelatch::verify {

[[nodiscard]] bool is_version(std::string_view text);
// Negative: `one` is the older. Both are versions.
[[nodiscard]] int compare_versions(std::string_view one, std::string_view other);

}  // namespace oncelatch::verify
