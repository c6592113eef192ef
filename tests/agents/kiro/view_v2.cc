#include "kiro_words.h"
#include "view.h"

#include <algorithm>

namespace kiro {
namespace {

Lines trust_menu(const PanelPicture& picture, const Style& style, std::size_t width) {
  constexpr std::size_t kGap = 4;
  const std::vector<TrustRow> options = trust_rows(*picture.prompt, Engine::V2, 0);
  std::size_t column = 0;
  for (const TrustRow& option : options) {
    if (!option.detail.empty()) column = std::max(column, display_width(option.label));
  }
  Lines rows;
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::string label = options[i].label;
    if (!options[i].detail.empty()) {
      label += std::string(column - display_width(label) + kGap, ' ') + shown_text(options[i].detail, style);
    }
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

bool on_trust(const PanelPicture& picture) {
  const std::vector<Option>& options = picture.prompt->options;
  return picture.cursor.level == Level::Menu && picture.cursor.row < options.size() &&
         opens_trust(*picture.prompt, options[picture.cursor.row]);
}

Lines above_panel(const Prompt& prompt, const Style& style, std::size_t width) {
  Lines rows;
  if (style.rule_above) rows.push_back(rule(style, width));
  append(rows, call_rows(style.ascii ? "v" : "↓", prompt, style, width));
  for (const std::string& row : prompt.diff) append(rows, wrap_with("", shown_text(row, style), 0, width, 0));
  for (const std::string& row : prompt.between) append(rows, wrap_with("", shown_text(row, style), 0, width, 0));
  rows.push_back(style.blank_between ? "" : rule(style, width));
  return rows;
}

}  // namespace

Lines panel_view_v2(const PanelPicture& picture, const Style& style, std::size_t width) {
  Lines rows = above_panel(*picture.prompt, style, width);
  const std::string header = shown_text(picture.prompt->header, style) + " " + words::approval;
  switch (picture.cursor.level) {
    case Level::Modify:
      append(rows, padded(header + " · Modify request", style, width));
      append(rows, editor_rows(picture.typed, style, width));
      return rows;
    case Level::Trust:
      append(rows, padded(header + " · trust options", style, width));
      append(rows, trust_menu(picture, style, width));
      break;
    case Level::Menu:
      append(rows, padded(header, style, width));
      append(rows, option_menu(picture, style, width));
      break;
  }
  rows.push_back(rule(style, width));
  append(rows, footer_rows(on_trust(picture), style, width));
  return rows;
}

}  // namespace kiro
