// The controlling terminal: raw mode, size, bytes in and out, and signals as readable events.
//
//   Terminal terminal;
//   if (!terminal.enter()) return 1;      // standard input is no terminal
//
// One instance a process (it owns the signal handlers and the wake pipe). The destructor restores
// the terminal. Writes block until done and give up silently when the terminal has gone.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace kiro {

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool enter();  // raw mode, cursor hidden, bracketed paste on
  void leave();  // everything as it was
  void write(std::string_view bytes) const;
  std::string read();  // what is there now; empty and `closed` set at the end

  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] bool closed() const { return closed_; }

  // Waits for input, a signal, or `extra` (-1: none) at most `wait_ms`.
  struct Ready {
    bool input = false;
    bool extra = false;
  };
  Ready wait(int extra, int wait_ms);

  [[nodiscard]] int stop_signal() const;  // 0, or the signal that asks to end
  bool take_resize();                     // true once after each SIGWINCH

 private:
  termios saved_{};
  bool raw_ = false;
  bool closed_ = false;
};

}  // namespace kiro
