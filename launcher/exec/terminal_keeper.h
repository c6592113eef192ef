// The caller's terminal in raw mode, given back as it was: by us, or by a child of ours when we are killed.
//
//   TerminalKeeper keeper(fd);
//   keeper.take(true);
//   keeper.restore(reset_sequences);   // also at destruction
//
// Ownership: borrows the descriptor; owns the child. Threads: one. Failure: a terminal whose mode can't be read stays
// untouched. After fork: no. Part of the light program.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <string>

#include "base/fd.h"

namespace oncelatch::launcher {

class TerminalKeeper {
 public:
  explicit TerminalKeeper(int terminal);
  TerminalKeeper(const TerminalKeeper&) = delete;
  TerminalKeeper& operator=(const TerminalKeeper&) = delete;
  ~TerminalKeeper();

  // From here on the terminal is given back at the end; `raw`: its keys come to us, byte by byte. Nothing happens while
  // the job is in the background.
  void take(bool raw);
  // The mode that it had, for as long as the job is stopped, and these sequences before.
  void lend(const std::string& reset_sequences);
  // Raw mode anew, after a shell has continued the job.
  void take_again();
  [[nodiscard]] bool in_foreground() const;
  // Lines are edited by the terminal: no other program has taken it for itself.
  [[nodiscard]] bool edits_lines() const;
  void restore(const std::string& reset_sequences);
  [[nodiscard]] const termios& mode() const { return mode_; }

 private:
  void start_child();
  int terminal_;
  termios mode_{};
  bool known_ = false;
  bool taken_ = false;
  bool raw_ = false;
  bool waited_ = false;  // for the foreground
  Fd alive_;             // the child restores when this end closes without a word
  pid_t child_ = -1;
};

}  // namespace oncelatch::launcher
