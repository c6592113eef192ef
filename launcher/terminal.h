// The two terminals of a session and the bytes between them: the pane's (tmux) and the inner pty that is the agent's
// own.
//
//   Terminal terminal = TRY(Terminal::open());
//   enter(plan, artifact, facts, {.terminal = terminal.slave()});
//   terminal.connect_pane(std::move(pane_tty));
//   poll(terminal.poll_fds()...);  terminal.handle_ready();
//
// Every byte a person types passes here and is timed: Terminal is the InputGate of the mirror. Ownership: owns the pty
// and the pane's descriptor. Threads: one. Never blocks: at most 64 KiB of output are held (the agent then waits), and
// 256 KiB of input for an agent that doesn't read (more is dropped, so that answers to its own queries can't pile up in
// tmux). Failure: a closed pane is reported by pane_closed(); the agent's end is seen by its process, not here. After
// fork: no.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "elicitation/pane.h"

namespace oncelatch::launcher {

class Terminal final : public elicitation::InputGate {
 public:
  [[nodiscard]] static Result<Terminal> open(const Clock& clock);
  Terminal(Terminal&&) = default;
  Terminal& operator=(Terminal&&) = default;

  [[nodiscard]] int slave() const { return slave_.get(); }
  Status connect_pane(Fd tty);
  [[nodiscard]] std::vector<pollfd> poll_fds() const;
  // Copies what can be copied now; true when output went to the pane.
  bool handle_ready();
  // The pane's size changed: the inner pty follows (its foreground group gets SIGWINCH).
  void follow_size();
  [[nodiscard]] bool pane_closed() const { return pane_closed_; }

  [[nodiscard]] Nanoseconds last_person_input() const override { return last_person_input_; }
  [[nodiscard]] bool quiet() override;
  void expect_own_key(elicitation::Key key) override;
  void own_key_not_sent(elicitation::Key key) override;

 private:
  Terminal() = default;
  void read_pane();
  bool read_agent();
  void note_input(std::string_view bytes);
  void write_agent();
  void write_pane();

  const Clock* clock_ = nullptr;
  Fd master_;
  Fd slave_;  // kept open so that unread input can be counted
  Fd pane_;
  std::string to_agent_;
  std::string to_pane_;
  std::string own_keys_;  // bytes still to arrive that are ours
  Nanoseconds last_person_input_{0};
  bool pane_closed_ = false;
};

}  // namespace oncelatch::launcher
