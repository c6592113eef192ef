// What the command's standard streams are: never the caller's own files and terminals.
//
//   ExecStreams streams = TRY(ExecStreams::open(ci));
//   enter(plan, artifact, facts, streams.inside());
//   streams.started();                        // our copies of its ends are closed
//
// A pipe of the caller is handed on as it is; a terminal becomes a terminal of our own (the inner pty), whose output is
// filtered; a file, device or socket becomes a pipe that we fill or empty. With `runner_commands`, output that isn't a
// terminal goes through a pipe of ours as well. Ownership: owns the pty, the pipes and the mode of the caller's
// terminal, which it restores when destroyed, when it also gives back to a file what the command didn't read of it.
// Threads: one. Failure: Error of stage "terminal". After fork: no. Part of the light program.
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
  // The command was stopped: so are we, with the terminal as it was; with `job`, the rest of our process group too, as
  // the terminal's driver does it.
  void suspend(bool job);
  // True once for a stop key (Ctrl-Z) that went to the command a moment ago.
  [[nodiscard]] bool had_stop_key();
  // The caller's window changed, or the job was continued.
  void follow_terminal();
  // A job in the background has no keyboard, and one in front of a pipe shares it with who reads that: as long as the
  // terminal edits lines they are the command's, a pager that takes it has it alone. Nothing tells of either change.
  [[nodiscard]] bool waits_for_keyboard() const;
  // What kept output from a file: an errno, 0 for nothing.
  [[nodiscard]] int output_error() const;
  enum class Left { none, for_terminal, for_others };
  // Output of the command that wasn't handed on yet.
  [[nodiscard]] Left output_left() const;

 private:
  struct Filters;
  static constexpr std::size_t kNoPump = ~std::size_t{0};
  ExecStreams();
  void give_back_input();
  Status open_terminal(bool runner_commands);
  Status open_stream(int number, bool runner_commands);

  Fd inside_[3];
  Fd slave_;
  Fd master_;
  int terminal_ = -1;      // number of the caller's stream that is a terminal
  bool keyboard_ = false;  // the caller's input is one
  bool shares_keyboard_ = false;
  std::vector<Pump> pumps_;
  std::size_t keyboard_pump_ = kNoPump;
  std::size_t file_pump_ = kNoPump;  // that of a file as input
  Fd file_pipe_;                     // its end at the command, to ask what is left in it
  std::unique_ptr<TerminalKeeper> keeper_;
  std::chrono::steady_clock::time_point bells_refilled_;
  std::unique_ptr<Filters> filters_;
};

}  // namespace oncelatch::launcher
