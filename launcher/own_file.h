// Reads a file that may loosen what holds the confined side: a policy, a profile. Only a regular file of the caller's
// or root's that nobody else may write.
//
//   std::string text = TRY(read_own_file(path, {"policy", "name a policy file with --policy FILE", 1 << 20}));
//
// Ownership: a value. Threads: any. Failure: Error of the given stage. Units: bytes. After fork: allocates.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace oncelatch::launcher {

struct OwnFile {
  std::string stage;
  std::string try_next;  // where it isn't there, or isn't a file
  std::size_t most = 0;
};

[[nodiscard]] Result<std::string> read_own_file(const std::string& path, const OwnFile& what);

}  // namespace oncelatch::launcher
