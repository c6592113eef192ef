// The state of one approval panel and what a key does to it.
//
//   const PanelStep step = press(panel, key, scenario.style, scenario.burst);
//   if (step.what == PanelStep::What::Decide) answer(step.answer);
//
// `wanted` follows the keys at once, `drawn` is what the last frame showed. With Burst::Stale Enter,
// Tab and → act on `drawn`, which is how a burst of keys selects a row that the user did not mean.
// Plain values; nothing fails.
#pragma once

#include "keys.h"
#include "prompt.h"

namespace kiro {

enum class Level { Menu, Trust, Modify };

struct Cursor {
  Level level = Level::Menu;
  std::size_t row = 0;
  std::size_t trust_row = 0;
  std::size_t scope = 0;
};

struct Panel {
  Prompt prompt;
  Cursor wanted;
  Cursor drawn;
  std::string typed;   // Modify editor, or the letter of a classic prompt
  bool shown = false;  // a frame with this panel is on the screen
  bool swap_armed = false;
  Micros show_at = 0;
  long serial = 0;
};

struct PanelStep {
  enum class What { Nothing, Redraw, Decide };
  What what = What::Nothing;
  Answer answer;
};

struct TrustRow {
  std::string label;
  std::string detail;
  Json option;  // V2: the entry of trustOptions; null for the whole tool
};

std::vector<TrustRow> trust_rows(const Prompt& prompt, Engine engine, std::size_t scope);
const std::string& scope_name(std::size_t scope);
bool opens_trust(const Prompt& prompt, const Option& option);
std::string focused_row(const Panel& panel, const Style& style);  // its label, as last drawn
const char* screen_name(const Panel& panel);                      // panel, trust or modify

PanelStep press(Panel& panel, const Key& key, const Style& style, Burst burst);

}  // namespace kiro
