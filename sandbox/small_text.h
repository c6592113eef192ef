// Short texts and files without the C library's stdio.
//
//   SmallText line;
//   line.number(1000).text(" 1");
//   TRY: write_file("/proc/self/uid_map", line.c_str());
//
// Ownership: a fixed buffer; longer texts are cut (and overflowed() says so). Threads: a value.
// Failure: -errno of write_file. After fork: safe; freestanding.
#pragma once

#include <linux/fcntl.h>

#include <cstring>

#include "sandbox/context.h"

namespace oncelatch::sandbox {

class SmallText {
 public:
  SmallText& text(const char* more) {
    for (; *more != 0; ++more) {
      if (size_ + 1 >= sizeof bytes_) {
        overflowed_ = true;
        return *this;
      }
      bytes_[size_++] = *more;
    }
    bytes_[size_] = 0;
    return *this;
  }
  SmallText& number(std::uint64_t value) {
    char digits[24];
    unsigned at = sizeof digits - 1;
    digits[at] = 0;
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return text(digits + at);
  }
  void clear() { size_ = 0, bytes_[0] = 0, overflowed_ = false; }
  [[nodiscard]] const char* c_str() const { return bytes_; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  char bytes_[512] = {};
  unsigned size_ = 0;
  bool overflowed_ = false;
};

// One write to an existing file.
inline Outcome write_file(const char* path, const char* text) {
  long fd = sys::call(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return failed(fd, path);
  long rc = sys::call(__NR_write, fd, text, std::strlen(text));
  sys::close(static_cast<int>(fd));
  if (rc < 0) return failed(rc, path);
  return {};
}

}  // namespace oncelatch::sandbox
