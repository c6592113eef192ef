// Tails Kiro's recorder file from its end.
//
//   RecorderFile file = TRY(RecorderFile::start(std::move(fd), path));
//   RecorderRound round = TRY(file.read_round());    // an error is final: stop mirroring
//   for (const std::string& line : round.lines) ...
//
// Ownership: owns both descriptors. Threads: one. Failure: the file was shrunk, rewritten, replaced, hard-linked or is
// no plain file of its first owner any more: Error, for good. Units: bytes; a line is at most 1 MiB, a longer one is
// skipped and counted. Never blocks; one round reads at most 256 KiB. After fork: not for the child. Source:
// contracts/kiro-tui.md 2.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::elicitation {

struct RecorderRound {
  std::vector<std::string> lines;  // whole lines without their end
  bool more = false;               // the file has more than this round took
};

class RecorderFile {
 public:
  static constexpr std::size_t longest_line = std::size_t{1} << 20;
  static constexpr std::size_t round_bytes = std::size_t{256} << 10;

  [[nodiscard]] static Result<RecorderFile> start(Fd file, std::string path);
  [[nodiscard]] Result<RecorderRound> read_round();
  // Readable when the file may have changed.
  [[nodiscard]] int watch_fd() const { return watch_.get(); }
  [[nodiscard]] std::uint64_t skipped_lines() const { return skipped_; }

 private:
  RecorderFile(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Status watch();
  Result<std::uint64_t> check() const;  // size
  Status check_tail() const;
  void take(std::string_view bytes, std::vector<std::string>* lines);
  void drain_watch() const;

  Fd file_;
  Fd watch_;
  std::string path_;
  struct stat identity_ {};
  std::uint64_t offset_ = 0;
  std::string partial_;
  std::string tail_;       // the last bytes before offset_, to notice a file written anew
  bool skipping_ = false;  // within a line that is too long, or that began before the start
  bool count_skip_ = false;
  std::uint64_t skipped_ = 0;
};

}  // namespace oncelatch::elicitation
