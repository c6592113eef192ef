// The names in a directory, sorted, without "." and "..".
//
//   for (const std::string& name : TRY(names_in(directory, "versions", 4096))) …
//
// Ownership: borrows the descriptor, whose offset stays. Threads: no state. Failure: Error of stage "verify"; more than
// `most` is one, too. After fork: allocates.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace oncelatch::verify {

[[nodiscard]] Result<std::vector<std::string>> names_in(int directory, const std::string& path, std::size_t most);

}  // namespace oncelatch::verify
