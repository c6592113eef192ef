// The one pane of our tmux server as a Pane: capture, and one guarded key in one server-side step.
//
// Ownership: the TmuxControl outlives the pane. Threads: one. Failure: Error when tmux doesn't answer or the pane is
// another one than at the start; then no key was sent, or (no answer after the key command) it is unknown. After fork:
// not for the child.
#pragma once

#include <string>
#include <vector>

#include "elicitation/pane.h"
#include "elicitation/tmux_control.h"

namespace oncelatch::elicitation {

class TmuxPane final : public Pane {
 public:
  [[nodiscard]] static Result<TmuxPane> find(TmuxControl* control);

  Result<ScreenText> capture() override;
  Result<bool> send_key_if(const std::vector<std::string>& must_show, Key key) override;
  Status set_person_input(bool on) override;

 private:
  explicit TmuxPane(TmuxControl* control) : control_(control) {}
  std::string condition(const std::vector<std::string>& must_show) const;

  TmuxControl* control_;
  std::string id_;
  std::string pid_;
  bool person_input_ = true;
  // Of the last capture; a key is sent only while they still hold.
  ScreenText seen_;
  std::string history_;
};

}  // namespace oncelatch::elicitation
