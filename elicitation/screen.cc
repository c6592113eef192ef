#include "elicitation/screen.h"

#include <algorithm>

#include "base/untrusted.h"
#include "elicitation/panel_call.h"

namespace oncelatch::elicitation {

namespace {

constexpr std::size_t most_lines = 1000;
constexpr std::size_t most_body_rows = 64;
constexpr std::size_t most_footer_rows = 3;
constexpr std::string_view header_words = "requires approval";

using Rows = std::vector<std::string>;

// Rules begin in the first column; text of the agent inside a panel is always indented.
bool is_rule(std::string_view row) {
  if (row.empty() || row.front() == ' ') return false;
  std::string_view rest = trimmed(row);
  if (rest.size() < 4 * rule_glyph.size()) return false;
  while (!rest.empty()) {
    if (rest.substr(0, rule_glyph.size()) != rule_glyph) return false;
    rest.remove_prefix(rule_glyph.size());
  }
  return true;
}

bool starts_with_any_case(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  return std::equal(lower.begin(), lower.end(), text.begin(), [](char want, char have) {
    return want == (have >= 'A' && have <= 'Z' ? static_cast<char>(have + ('a' - 'A')) : have);
  });
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Screen other(ScreenKind kind, std::string why) {
  return {kind, std::move(why), std::nullopt};
}

// Index after the last non-blank row.
std::size_t used_rows(const Rows& rows) {
  std::size_t end = std::min(rows.size(), most_lines);
  while (end > 0 && trimmed(rows[end - 1]).empty()) --end;
  return end;
}

// Dialogs that are known but never acted on, told by words near the bottom.
std::optional<ScreenKind> known_dialog(const Rows& rows, std::size_t end) {
  struct Mark {
    std::string_view words;
    ScreenKind kind;
  };
  static constexpr Mark marks[] = {
      {"tool approval(s) pending from subagents", ScreenKind::batch_picker},
      {"y approve \u00b7 n deny", ScreenKind::agent_monitor},
      {"[y/n/t]", ScreenKind::classic},
      {"Kiro is running in trust all tools mode", ScreenKind::trust_all_consent},
  };
  for (std::size_t back = 1; back <= 8 && back <= end; ++back) {
    for (const Mark& mark : marks) {
      if (has(rows[end - back], mark.words)) return mark.kind;
    }
  }
  return std::nullopt;
}

struct Footer {
  std::size_t first = 0;  // its first row
  bool ruled = false;     // a rule row stands directly above
};

// The last rows of the screen, when they begin with "esc to close".
std::optional<Footer> find_footer(const Rows& rows, std::size_t end) {
  for (std::size_t count = 1; count <= most_footer_rows && count <= end; ++count) {
    const std::size_t first = end - count;
    if (trimmed(rows[first]).empty() || is_rule(rows[first])) return std::nullopt;
    if (starts_with_any_case(trimmed(rows[first]), "esc to close")) {
      return Footer{first, first > 0 && is_rule(rows[first - 1])};
    }
  }
  return std::nullopt;
}

struct Header {
  std::size_t line = 0;
  std::string_view suffix;  // what follows "requires approval": empty on the first level
};

std::optional<Header> find_header(const Rows& rows, std::size_t below) {
  for (std::size_t back = 1; back <= most_body_rows && back <= below; ++back) {
    if (is_rule(rows[below - back])) return std::nullopt;
    const std::string_view row = trimmed(rows[below - back]);
    const std::size_t at = row.rfind(header_words);
    // The header has one blank of indent; a call row or a menu row never has these words at its end or before a middle
    // dot.
    if (at == std::string_view::npos || leading_blanks(rows[below - back]) > 1) continue;
    const std::string_view suffix = trimmed(row.substr(at + header_words.size()));
    if (suffix.empty() || suffix.substr(0, 2) == "\u00b7") return Header{below - back, suffix};
  }
  return std::nullopt;
}

struct MenuRow {
  bool marked = false;
  std::size_t column = 0;  // of the label
  std::string_view text;
};

MenuRow menu_row(std::string_view row) {
  const std::size_t indent = leading_blanks(row);
  row.remove_prefix(indent);
  if (row.substr(0, focus_mark.size()) == focus_mark) {
    row.remove_prefix(focus_mark.size());
    const std::size_t gap = leading_blanks(row);
    return {true, indent + 1 + gap, trimmed(row)};
  }
  return {false, indent, trimmed(row)};
}

struct Menu {
  Engine engine = Engine::v2;
  std::size_t first = 0;  // screen row of the first menu row
  std::size_t column = 0;
  std::vector<PanelRow> rows;
  std::vector<bool> marked;
};

// The label that ends at row `last` (inclusive) and begins at `first` or below; wrapped rows are joined by one blank.
bool take_label_ending_at(const Rows& rows, std::size_t first, std::size_t last, Menu* menu) {
  std::string joined;
  for (std::size_t count = 1; count <= 4 && last + 1 >= first + count; ++count) {
    const std::size_t line = last + 1 - count;
    const MenuRow row = menu_row(rows[line]);
    if (row.text.empty()) return false;
    joined = joined.empty() ? std::string(row.text) : std::string(row.text) + " " + joined;
    const RowLabel* label = find_label(menu->engine, joined);
    const bool same_column = menu->rows.empty() ? true : row.column == menu->column;
    if (label != nullptr && same_column) {
      PanelRow found{joined, label->kind, {}};
      found.visible.assign(rows.begin() + static_cast<std::ptrdiff_t>(line),
                           rows.begin() + static_cast<std::ptrdiff_t>(last + 1));
      menu->column = row.column;
      menu->rows.insert(menu->rows.begin(), std::move(found));
      menu->marked.insert(menu->marked.begin(), row.marked);
      menu->first = line;
      return true;
    }
    if (row.marked) return false;  // the mark stands on a label's first row only
  }
  return false;
}

// Menu rows upwards from `below` while they are labels of this engine.
Menu read_menu(const Rows& rows, Engine engine, std::size_t above, std::size_t below) {
  Menu menu;
  menu.engine = engine;
  menu.first = below;
  while (menu.first > above && take_label_ending_at(rows, above, menu.first - 1, &menu)) {
  }
  return menu;
}

bool continuation_columns_agree(const Menu& menu) {
  for (const PanelRow& row : menu.rows) {
    for (std::size_t i = 1; i < row.visible.size(); ++i) {
      if (leading_blanks(row.visible[i]) != menu.column) return false;
    }
  }
  return true;
}

bool labels_distinct(const Menu& menu) {
  for (std::size_t i = 0; i < menu.rows.size(); ++i) {
    for (std::size_t j = i + 1; j < menu.rows.size(); ++j) {
      if (menu.rows[i].label == menu.rows[j].label) return false;
    }
  }
  return true;
}

std::size_t marks_between(const Rows& rows, std::size_t first, std::size_t end) {
  std::size_t count = 0;
  for (std::size_t line = first; line < end; ++line) {
    if (trimmed(rows[line]).substr(0, focus_mark.size()) == focus_mark) ++count;
  }
  return count;
}

Screen sub_dialog(std::string_view suffix) {
  if (has(suffix, "trust options")) return other(ScreenKind::trust_options, "the trust options are open");
  if (has(suffix, "Modify request")) return other(ScreenKind::modify_editor, "the request editor is open");
  return other(ScreenKind::unknown_panel, "an unknown second level of the prompt is open");
}

Screen read_panel(const ScreenText& text, const Header& header, std::size_t below) {
  const Rows& rows = text.rows;
  const std::size_t body = header.line + 1;
  Menu menu = read_menu(rows, Engine::v2, body, below);
  if (menu.rows.empty()) menu = read_menu(rows, Engine::v3, body, below);
  const std::size_t marks = marks_between(rows, body, below);
  if (marks > 1) return other(ScreenKind::redrawing, "two focus marks: the screen is being redrawn");
  if (menu.rows.size() < 2) return other(ScreenKind::unknown_panel, "the prompt has rows that aren't known");
  if (!labels_distinct(menu)) return other(ScreenKind::unknown_panel, "the prompt has the same row twice");
  if (!continuation_columns_agree(menu)) return other(ScreenKind::unknown_panel, "a wrapped row has another indent");
  const auto mark = std::find(menu.marked.begin(), menu.marked.end(), true);
  if (marks == 0 || mark == menu.marked.end()) return other(ScreenKind::redrawing, "no row is focused");

  Panel panel;
  panel.engine = menu.engine;
  panel.header = rows[header.line];
  panel.header_line = header.line;
  panel.focused = static_cast<std::size_t>(mark - menu.marked.begin());
  panel.rows = std::move(menu.rows);
  panel.columns = text.columns;
  panel.lines = rows.size();
  const std::string problem = panel.engine == Engine::v2 ? read_call_above(rows, header.line, menu.first, &panel)
                                                         : read_call_below(rows, header.line, menu.first, &panel);
  if (!problem.empty()) return other(ScreenKind::unknown_panel, problem);
  return {ScreenKind::approval, {}, std::move(panel)};
}

}  // namespace

std::size_t leading_blanks(std::string_view row) {
  const std::size_t first = row.find_first_not_of(' ');
  return first == std::string_view::npos ? row.size() : first;
}

std::string_view trimmed(std::string_view row) {
  row.remove_prefix(leading_blanks(row));
  while (!row.empty() && row.back() == ' ') row.remove_suffix(1);
  return row;
}

std::string_view screen_kind_name(ScreenKind kind) {
  switch (kind) {
    case ScreenKind::nothing:
      return "nothing";
    case ScreenKind::approval:
      return "approval";
    case ScreenKind::redrawing:
      return "redrawing";
    case ScreenKind::trust_options:
      return "trust_options";
    case ScreenKind::modify_editor:
      return "modify_editor";
    case ScreenKind::batch_picker:
      return "batch_picker";
    case ScreenKind::agent_monitor:
      return "agent_monitor";
    case ScreenKind::classic:
      return "classic";
    case ScreenKind::trust_all_consent:
      return "trust_all_consent";
    case ScreenKind::picker:
      return "picker";
    case ScreenKind::unknown_panel:
      return "unknown_panel";
  }
  return "nothing";
}

Screen read_screen(const ScreenText& text) {
  if (text.in_mode) return other(ScreenKind::nothing, "the terminal is in copy mode");
  const Rows& rows = text.rows;
  const std::size_t end = used_rows(rows);
  if (end == 0) return other(ScreenKind::nothing, "the screen is empty");
  const std::optional<Footer> footer = find_footer(rows, end);
  if (!footer) {
    if (const auto kind = known_dialog(rows, end)) return other(*kind, "another dialog is open");
    if (starts_with_any_case(trimmed(rows[end - 1]), "esc to cancel")) {
      return other(ScreenKind::picker, "a picker is open");
    }
    return other(ScreenKind::nothing, "no prompt at the bottom of the screen");
  }
  const std::size_t below = footer->ruled ? footer->first - 1 : footer->first;
  const std::optional<Header> header = find_header(rows, below);
  if (!header) return other(ScreenKind::picker, "a picker is open");
  if (!header->suffix.empty()) return sub_dialog(header->suffix);
  if (!footer->ruled && marks_between(rows, header->line + 1, below) < 2) {
    return other(ScreenKind::redrawing, "the prompt has no lower rule");
  }
  return read_panel(text, *header, below);
}

}  // namespace oncelatch::elicitation
