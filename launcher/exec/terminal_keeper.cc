#include "launcher/exec/terminal_keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace oncelatch::launcher {

namespace {

// What a killed program may have left on: alternate screen, hidden cursor, mouse, focus, bracketed paste, attributes,
// scroll region, character set, keypad.
constexpr std::string_view kResetAll =
    "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?1l\x1b>"
    "\x1b[0m\x1b[r\x1b(B\x0f\r\n";

// Allowed from the background too, for a process that ignores SIGTTOU.
void set_mode(int terminal, const termios& mode) {
  while (::tcsetattr(terminal, TCSANOW, &mode) != 0 && errno == EINTR) {
  }
}

// `mode` nullptr: it was never changed.
[[noreturn]] void wait_for_end(int pipe_end, int caller_terminal, const termios* mode) {
  constexpr int terminal = 0;
  constexpr int pipe = 1;
  int first = ::fcntl(caller_terminal, F_DUPFD, 3);
  int second = ::fcntl(pipe_end, F_DUPFD, 3);
  if (::dup2(first, terminal) < 0 || ::dup2(second, pipe) < 0) ::_exit(1);
  // Every other descriptor has somebody who waits for its end.
  ::syscall(SYS_close_range, 2U, ~0U, 0U);
  ::setpgid(0, 0);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTOU, SIGTTIN, SIGPIPE}) ::signal(number, SIG_IGN);
  char word = 0;
  ssize_t got = 0;
  while ((got = ::read(pipe, &word, 1)) < 0 && errno == EINTR) {
  }
  if (got == 1) ::_exit(0);
  if (mode != nullptr) set_mode(terminal, *mode);
  (void)!::write(terminal, kResetAll.data(), kResetAll.size());
  ::_exit(0);
}

}  // namespace

TerminalKeeper::TerminalKeeper(int terminal) : terminal_(terminal) {
  known_ = ::tcgetattr(terminal_, &mode_) == 0;
}

TerminalKeeper::~TerminalKeeper() {
  if (taken_) restore({});
}

// No terminal of ours to be in the foreground of: nobody else's either.
bool TerminalKeeper::in_foreground() const {
  const pid_t foreground = ::tcgetpgrp(terminal_);
  return foreground < 0 || foreground == ::getpgrp();
}

bool TerminalKeeper::edits_lines() const {
  termios now{};
  return ::tcgetattr(terminal_, &now) == 0 && (now.c_lflag & ICANON) != 0;
}

void TerminalKeeper::take(bool raw) {
  if (!known_ || taken_) return;
  if (!in_foreground()) {
    waited_ = true;
    return;
  }
  taken_ = true;
  raw_ = raw;
  if (waited_) (void)::tcgetattr(terminal_, &mode_);  // the mode of the start was that of a shell at its prompt
  start_child();
  take_again();
}

void TerminalKeeper::lend(const std::string& reset_sequences) {
  if (!taken_ || !raw_ || !in_foreground()) return;
  (void)!::write(terminal_, reset_sequences.data(), reset_sequences.size());
  set_mode(terminal_, mode_);
}

void TerminalKeeper::take_again() {
  if (!taken_ || !raw_ || !in_foreground()) return;
  termios mode = mode_;
  ::cfmakeraw(&mode);
  set_mode(terminal_, mode);
}

void TerminalKeeper::start_child() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  Fd read_end(ends[0]);
  alive_.reset(ends[1]);
  child_ = ::fork();
  if (child_ != 0) return;
  alive_.reset();
  wait_for_end(read_end.get(), terminal_, raw_ ? &mode_ : nullptr);
}

void TerminalKeeper::restore(const std::string& reset_sequences) {
  (void)!::write(terminal_, reset_sequences.data(), reset_sequences.size());
  if (!taken_) return;
  taken_ = false;
  if (raw_ && in_foreground()) set_mode(terminal_, mode_);  // else it is the shell's again, or a pager's
  if (child_ <= 0) return;
  (void)!::write(alive_.get(), "k", 1);
  alive_.reset();
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

}  // namespace oncelatch::launcher
