// Bytes from one descriptor to another through a bounded buffer: what is full waits, so a flood waits at its source.
//
//   Pump pump(Pump::Side::from_command, std::move(pipe), std::move(file), filter);
//   poll(pump.entries()…);  pump.move();
//
// Ownership: owns both descriptors, which must not block. Threads: one. Failure: a receiver that is gone closes the
// sender's end, so its next write fails as it would outside. Memory: 64 KiB and what the filter holds. After fork: no.
// Part of the light program.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace oncelatch::launcher {

class Pump {
 public:
  // Appends what is to be passed on.
  using Filter = std::function<void(std::string_view bytes, std::string& out)>;

  enum class Side { from_command, to_command };
  Pump(Side side, Fd from, Fd to, Filter filter = {});

  void add_entries(std::vector<pollfd>& entries) const;
  // Copies what can be copied now.
  void move();
  // Everything that was read has been written, and nothing more comes.
  [[nodiscard]] bool done() const { return !from_ && held_.empty(); }
  [[nodiscard]] bool feeds_command() const { return side_ == Side::to_command; }
  [[nodiscard]] bool feeds_terminal() const { return to_terminal_; }
  // What kept output from its receiver, an errno; 0 where the receiver only has ended.
  [[nodiscard]] int error() const { return error_; }
  // Read and not written.
  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  void read_some();
  void write_some();

  Side side_;
  bool to_terminal_;
  bool may_block_;
  Fd from_;
  Fd to_;
  Filter filter_;
  std::string held_;
  int error_ = 0;
};

// A second open file description of the same object that doesn't block, so that the caller's own stays as it is; a
// duplicate where that can't be had (a socket).
[[nodiscard]] Fd reopen_without_blocking(int fd, int access);

}  // namespace oncelatch::launcher
