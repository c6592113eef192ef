// One entry of an archive, before anybody decided about it.
//
//   ArchiveEntry entry{.path = "kirocli/bin/kiro-cli", .directory = false, .mode = 0755, .size = 5};
//
// Ownership: values. Threads: any. Failure: none. After fork: allocates.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace oncelatch::verify {

struct ArchiveEntry {
  std::string path;  // as it stands there, without "./" before and "/" behind
  bool directory = false;
  mode_t mode = 0;  // with set-id bits
  std::uint64_t size = 0;
};

}  // namespace oncelatch::verify
