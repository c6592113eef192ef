// Two texts compared line by line, as unified hunks with three lines around each change.
//
//   std::string text = unified_diff(before, after);    // "@@ -1,3 +1,4 @@\n one\n-two\n+2\n…"
//
// Made to be looked at: lines are escaped and clipped, so it is no patch. Ownership: values. Threads: any. Failure:
// none; texts that differ in more than 1000 lines are shown as one removed and one added piece. After fork: allocates.
#pragma once

#include <string>
#include <string_view>

namespace oncelatch::launcher {

[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view after);

}  // namespace oncelatch::launcher
