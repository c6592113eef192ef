// The agent's terminal as the mirror sees it, and the gate that every byte a person types passes through.
//
// Both are interfaces so that delivery can be tested against a virtual screen; TmuxPane (tmux_pane.h) and the
// supervisor's terminal (launcher/terminal.h) are the real ones. Ownership: the launcher owns both.
// Threads: one. Failure: a Result error is "no key".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace oncelatch::elicitation {

// The visible screen, top to bottom, without trailing blanks; UTF-8, untrusted.
struct ScreenText {
  std::vector<std::string> rows;
  std::size_t columns = 0;
  bool in_mode = false;  // copy mode or another tmux mode: the rows prove nothing and keys don't reach the program
};

enum class Key { enter, up, down };

class Pane {
 public:
  virtual ~Pane() = default;
  [[nodiscard]] virtual Result<ScreenText> capture() = 0;
  // Sends one key if, in the same server-side step, every row of `must_show` still stands on the screen where the last
  // capture had it (where it stood more than once: the first of them) and the pane is in no mode. Returns false (no key
  // sent) when not.
  [[nodiscard]] virtual Result<bool> send_key_if(const std::vector<std::string>& must_show, Key key) = 0;
  // While off, nothing that attached clients type reaches the program; send_key_if still does.
  virtual Status set_person_input(bool on) = 0;
};

class InputGate {
 public:
  virtual ~InputGate() = default;
  // Monotonic time of the last byte a person typed; zero: never. Bytes of send_key_if don't count.
  [[nodiscard]] virtual Nanoseconds last_person_input() const = 0;
  // True when nothing typed is still on its way: neither between tmux and us nor unread in the program's terminal.
  [[nodiscard]] virtual bool quiet() = 0;
  // Tells the gate that `bytes` about to arrive are ours; anything else that arrives is a person's.
  virtual void expect_own_key(Key key) = 0;
  // The key announced last was refused by its guard and never went out.
  virtual void own_key_not_sent(Key key) = 0;
};

}  // namespace oncelatch::elicitation
