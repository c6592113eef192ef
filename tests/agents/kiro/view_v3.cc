#include "kiro_words.h"
#include "view.h"

namespace kiro {
namespace {

Lines trust_picker(const PanelPicture& picture, const Style& style, std::size_t width) {
  const std::vector<TrustRow> options = trust_rows(*picture.prompt, Engine::V3, picture.cursor.scope);
  Lines rows;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string label = shown_text(options[i].label, style) + "  " + options[i].detail;
    append(rows, menu_row(label, i == picture.cursor.trust_row, style, width));
  }
  return rows;
}

Lines option_menu(const PanelPicture& picture, const Style& style, std::size_t width) {
  Lines rows;
  for (std::size_t i = 0; i < picture.prompt->options.size(); ++i) {
    const bool focused = i == picture.cursor.row || i == picture.ghost;
    append(rows, menu_row(picture.prompt->options[i].label, focused, style, width));
  }
  return rows;
}

}  // namespace

Lines panel_view_v3(const PanelPicture& picture, const Style& style, std::size_t width) {
  const Prompt& prompt = *picture.prompt;
  Lines rows;
  for (const std::string& row : prompt.diff) append(rows, wrap_with("", shown_text(row, style), 0, width, 0));
  for (const std::string& row : prompt.between) append(rows, wrap_with("", shown_text(row, style), 0, width, 0));
  rows.push_back(rule(style, width));
  const std::string header = shown_text(prompt.header, style) + " " + words::approval;
  append(rows, padded(picture.cursor.level == Level::Modify ? header + " · Modify request" : header, style, width));
  append(rows, padded(shown_text(prompt.call, style), style, width));
  if (picture.cursor.level == Level::Modify) {
    append(rows, editor_rows(picture.typed, style, width));
    return rows;
  }
  const bool trust = picture.cursor.level == Level::Trust;
  append(rows, trust ? trust_picker(picture, style, width) : option_menu(picture, style, width));
  rows.push_back(rule(style, width));
  append(rows, trust ? padded("esc to close · ↑↓ to navigate · ↵ to select · (s) scope", style, width)
                     : footer_rows(false, style, width));
  return rows;
}

}  // namespace kiro
