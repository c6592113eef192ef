// The names in a directory, one after the other, by getdents64(2).
//
//   DirectoryNames names(directory);
//   while (const char* name = names.next()) …        // without "." and ".."
//   if (names.error() != 0) …
//
// Ownership: borrows the descriptor, whose offset it moves; a name lives until the next. Threads: one. Failure: -errno
// in error(), and no name. After fork: safe; freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sandbox/syscall.h"

namespace oncelatch::sandbox {

class DirectoryNames {
 public:
  explicit DirectoryNames(int directory) : directory_(directory) {}
  const char* next() {
    for (;;) {
      if (at_ == filled_ && !fill()) return nullptr;
      std::uint16_t size = 0;
      std::memcpy(&size, buffer_ + at_ + kSizeAt, sizeof size);
      const char* name = buffer_ + at_ + kNameAt;
      at_ += size;
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) return name;
    }
  }
  [[nodiscard]] long error() const { return error_; }

 private:
  static constexpr long kSizeAt = 16;  // struct linux_dirent64
  static constexpr long kNameAt = 19;
  bool fill() {
    at_ = 0;
    filled_ = sys::call(__NR_getdents64, directory_, buffer_, sizeof buffer_);
    if (filled_ < 0) error_ = filled_;
    if (filled_ < 0) filled_ = 0;
    return filled_ > 0;
  }
  int directory_;
  long at_ = 0;
  long filled_ = 0;
  long error_ = 0;
  alignas(8) char buffer_[4096];
};

}  // namespace oncelatch::sandbox
