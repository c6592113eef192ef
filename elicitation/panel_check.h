// Is the panel on the screen the one of this request, with the wanted choice in it?
//
// Ownership: values. Threads: pure. Failure: our own words for the first check that fails. After fork: allocates.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "elicitation/call_text.h"
#include "elicitation/screen.h"
#include "policy/recorder.h"

namespace oncelatch::elicitation {

struct WantedPanel {
  CallText call;
  std::vector<policy::OptionKind> kinds;  // of the request's options, in their order
  // Set once part of the record is unknown: then a call on several rows may be another, unread request whose line
  // breaks only look like wrapping. The mirror's; may be null.
  const bool* record_in_doubt = nullptr;
};

// Empty when the screen shows exactly this request, whole and at rest.
[[nodiscard]] std::string check_screen(const Screen& screen, const WantedPanel& wanted);

// Empty when header, call and choices stand on the screen once only: a copy printed by the agent would blunt the guard
// of a key.
[[nodiscard]] std::string check_single(const ScreenText& text, const Panel& panel);

// Row of the one-time choice for a verdict; the panel passed check_screen.
[[nodiscard]] std::size_t target_row(const Panel& panel, policy::Verdict verdict);

// Screen rows that must still stand when a key goes out: header, call, every choice, the focused one included.
[[nodiscard]] std::vector<std::string> must_show(const Panel& panel);

// The same panel apart from the focus.
[[nodiscard]] bool same_but_focus(const Panel& a, const Panel& b);

}  // namespace oncelatch::elicitation
