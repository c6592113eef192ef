// What is mounted below a directory, in this process's mount namespace.
//
//   std::string point = TRY(mounted_below("/home/u/project"));   // "/home/u/project/cache"; empty: nothing
//
// Ownership: values. Threads: any. Failure: Error of stage "sandbox". A mount that another one hides is named as well.
// After fork: allocates.
#pragma once

#include <string>

#include "base/result.h"

namespace oncelatch::sandbox {

// The first of them.
[[nodiscard]] Result<std::string> mounted_below(const std::string& directory);

}  // namespace oncelatch::sandbox
