// What a frame looks like: pure functions from state to rows that fit the width.
//
//   screen.draw(panel_view({&prompt, cursor, "", kNoGhost}, scenario.style, terminal.columns()));
//
// No state, nothing fails, no terminal access. V2 and V3 panels are in view_v2.cc and view_v3.cc.
#pragma once

#include "panel.h"

namespace kiro {

constexpr std::size_t kNoGhost = static_cast<std::size_t>(-1);

struct PanelPicture {
  const Prompt* prompt = nullptr;
  Cursor cursor;
  std::string typed;
  std::size_t ghost = kNoGhost;  // a second row that bears the focus mark: a torn frame
};

struct Composer {
  enum class Mood { Boot, Idle, Busy };
  Mood mood = Mood::Idle;
  std::string text;
  std::string agent;
  std::string model;
  std::string directory;
  long seconds = 0;
};

struct Picker {
  std::string title;
  Lines rows;
  std::string footer;
  std::string hotkeys;  // letters that choose a row; no focus mark then
  std::string look;     // "", "batch", "trust_all"
  std::size_t wanted = 0;
  std::size_t drawn = 0;
};

Lines panel_view(const PanelPicture& picture, const Style& style, std::size_t width);
Lines composer_view(const Composer& composer, const Style& style, std::size_t width);
Lines picker_view(const Picker& picker, const Style& style, std::size_t width);
Lines call_rows(const std::string& mark, const Prompt& prompt, const Style& style, std::size_t width);

// Parts shared by the panels.
std::string rule(const Style& style, std::size_t width);
void append(Lines& rows, const Lines& more);
Lines menu_row(const std::string& label, bool focused, const Style& style, std::size_t width);
Lines padded(const std::string& text, const Style& style, std::size_t width);
Lines footer_rows(bool sees_more, const Style& style, std::size_t width);
Lines editor_rows(const std::string& typed, const Style& style, std::size_t width);
std::string shown_text(const std::string& text, const Style& style);
Lines panel_view_v2(const PanelPicture& picture, const Style& style, std::size_t width);
Lines panel_view_v3(const PanelPicture& picture, const Style& style, std::size_t width);

}  // namespace kiro
