#pragma once

#include <termios.h>

#include <map>
#include <string>

#include "base/fd.h"
#include "base/process.h"

namespace oncelatch::test {

// A person's terminal of 30 rows and 110 columns whose foreground job is oncelatch.
class Terminal {
 public:
  // `streams` by number; those of 0 to 2 that it doesn't name are the terminal.
  explicit Terminal(Spawn spawn, std::map<int, int> streams = {});
  void type(const std::string& keys) const;
  // Waits until the text stands in what was shown after what was looked for last.
  bool shows(const std::string& text);
  // The exit code, as a shell tells it; -1 when it hasn't ended within 20 s.
  int wait();
  void resize(unsigned short rows, unsigned short columns) const;
  // Its modes are those from before the job.
  [[nodiscard]] bool is_as_before() const;
  // The person shuts the window.
  void close();
  Process& process() { return process_; }
  [[nodiscard]] const std::string& screen() const { return screen_; }

 private:
  void drain();

  Fd keyboard_;
  Fd tty_;
  termios before_{};
  Process process_;
  std::string screen_;
  std::size_t seen_ = 0;
};

}  // namespace oncelatch::test
