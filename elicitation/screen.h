// Reads Kiro's approval panel off the visible screen, structurally and from the bottom. Everything that isn't wholly
// understood is "no panel to act on"; nothing above the panel's own call can make it look different.
//
//   Screen screen = read_screen(pane.capture().value());
//   if (screen.kind == ScreenKind::approval) use(screen.panel->rows[screen.panel->focused].kind);
//
// Ownership: values. Threads: pure. Failure: never fails; `why` says in our own words what is missing. Units: rows
// counted from the top, columns in terminal cells. After fork: allocates. Source: contracts/kiro-tui.md 4.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elicitation/pane.h"
#include "elicitation/screen_table.h"

namespace oncelatch::elicitation {

enum class ScreenKind {
  nothing,            // no panel of any kind
  approval,           // the first-level panel, whole: the only kind keys are ever sent to
  redrawing,          // two focus marks, or half a panel
  trust_options,      // second level after Trust
  modify_editor,      // text field after Tab
  batch_picker,       // "N tool approval(s) pending from subagents"
  agent_monitor,      //
  classic,            // [y/n/t]
  trust_all_consent,  // start-up dialog of --trust-all-tools
  picker,             // palette, /model, trust scope… : takes the keyboard
  unknown_panel,      // "requires approval" with rows we don't know
};
[[nodiscard]] std::string_view screen_kind_name(ScreenKind kind);

struct PanelRow {
  std::string label;
  policy::OptionKind kind = policy::OptionKind::other;
  std::vector<std::string> visible;  // its screen rows, unchanged
  friend bool operator==(const PanelRow&, const PanelRow&) = default;
};

// One screen row of the call. `text` is without indent and glyph; a row with another indent than the first row's text
// column can't be its continuation.
struct CallRow {
  std::string text;
  std::string visible;
  std::size_t column = 0;
  friend bool operator==(const CallRow&, const CallRow&) = default;
};

struct Panel {
  Engine engine = Engine::v2;
  std::string tool;    // V2: last word of the header ("shell"); V3: empty
  std::string header;  // screen row, unchanged
  std::size_t header_line = 0;
  std::vector<PanelRow> rows;
  std::size_t focused = 0;
  std::vector<CallRow> call;
  bool another_call = false;  // another waiting call of this tool stands directly above: which one is asked is unclear
  std::size_t columns = 0;
  std::size_t lines = 0;
  friend bool operator==(const Panel&, const Panel&) = default;
};

struct Screen {
  ScreenKind kind = ScreenKind::nothing;
  std::string why;
  std::optional<Panel> panel;  // set only with `approval`
};

[[nodiscard]] Screen read_screen(const ScreenText& text);

// Helpers shared with call_text.cc: blanks in front, and the row without them.
[[nodiscard]] std::size_t leading_blanks(std::string_view row);
[[nodiscard]] std::string_view trimmed(std::string_view row);

}  // namespace oncelatch::elicitation
