// An owned file descriptor. -1 is the empty value (0 is a valid descriptor).
//
//   Fd file(::open("x", O_RDONLY | O_CLOEXEC));
//   if (!file) ...
//
// Ownership: closes on destruction; release() gives it away. Threads: as an int. Failure: none; an error of close(2) is
// lost. After fork: safe.
#pragma once

#include <unistd.h>

#include <utility>

namespace oncelatch {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace oncelatch
