// What the command's standard streams are: never the caller's own files and terminals.
//
//   ExecStreams streams = TRY(ExecStreams::open(ci));
//   enter(prepared, streams.inside());
//   streams.started();                        // our copies of its ends are closed
//
// A pipe of the caller is handed on as it is; a terminal becomes a terminal of our own (the inner pty), whose output is
// filtered; a file, device or socket becomes a pipe that we fill or empty. With `runner_commands`, output that isn't a
// terminal goes through a pipe of ours as well. Ownership: owns the pty, the pipes and the mode of the caller's
// terminal, which it restores when destroyed. Threads: one. Failure: Error of stage "terminal". After fork: no. Part of
// the light program.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/exec/pump.h"
#include "sandbox/enter.h"

namespace oncelatch::launcher {

class TerminalKeeper;

class ExecStreams {
 public:
  [[nodiscard]] static Result<ExecStreams> open(bool runner_commands);
  ExecStreams(ExecStreams&&) noexcept;
  ExecStreams& operator=(ExecStreams&&) = delete;
  ~ExecStreams();

  [[nodiscard]] sandbox::Streams inside() const;
  // Closes our copies of the command's ends and puts the caller's terminal into raw mode.
  void started();
  void add_entries(std::vector<pollfd>& entries) const;
  void move();
  // The caller's window changed.
  void follow_size();
  // All output of the ended command was handed on, or `milliseconds` are over.
  void drain(int milliseconds);

 private:
  struct Filters;
  ExecStreams();
  Status open_terminal(bool runner_commands);
  Status open_stream(int number, bool runner_commands);

  Fd inside_[3];
  Fd slave_;
  Fd master_;
  int terminal_ = -1;      // number of the caller's stream that is a terminal
  bool keyboard_ = false;  // the caller's input is one
  std::vector<Pump> pumps_;
  std::unique_ptr<TerminalKeeper> keeper_;
  std::chrono::steady_clock::time_point bells_refilled_;
  std::unique_ptr<Filters> filters_;
};

}  // namespace oncelatch::launcher
