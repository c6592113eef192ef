// The version of the whole project, for --version and for reports that name who wrote them.
//
//   fmt::print("oncelatch {}\n", kVersion);
//
// Ownership: a constant. Threads: any. Failure: none. After fork: safe.
#pragma once

namespace oncelatch::launcher {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace oncelatch::launcher
