#include "elicitation/panel_call.h"

#include <algorithm>
#include <optional>

namespace oncelatch::elicitation {

namespace {

using Rows = std::vector<std::string>;

bool begins_with_glyph(std::string_view text, std::span<const std::string_view> glyphs) {
  return std::any_of(glyphs.begin(), glyphs.end(), [&](std::string_view glyph) {
    return text.substr(0, glyph.size()) == glyph && text.size() > glyph.size() && text[glyph.size()] == ' ';
  });
}

bool is_rule_row(std::string_view row) {
  return row.substr(0, 4 * rule_glyph.size()) == "\u2500\u2500\u2500\u2500";
}

bool is_call(std::string_view row) {
  return leading_blanks(row) <= 1 && begins_with_glyph(trimmed(row), call_glyphs());
}
bool is_sibling(std::string_view row) {
  return leading_blanks(row) <= 1 && begins_with_glyph(trimmed(row), sibling_glyphs());
}
bool is_indented(std::string_view row) {
  return leading_blanks(row) >= 2 && !trimmed(row).empty();
}

// The call row without its glyph (all glyphs are one cell wide).
CallRow first_call_row(const std::string& row) {
  const std::size_t indent = leading_blanks(row);
  std::string_view text = std::string_view(row).substr(indent);
  text.remove_prefix(std::min(text.size(), text.find(' ')));
  const std::size_t gap = leading_blanks(text);
  return {std::string(trimmed(text)), row, indent + 1 + gap};
}

CallRow further_row(const std::string& row, std::size_t column) {
  const std::size_t indent = leading_blanks(row);
  // Blanks beyond the call's own column belong to the text.
  const std::size_t cut = std::min(indent, column);
  std::string_view text = std::string_view(row).substr(cut);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return {std::string(text), row, cut};
}

// Row of the call, upwards from the header; a blank row, a rule or both stand in between.
std::optional<std::size_t> find_call(const Rows& rows, std::size_t header) {
  std::size_t line = header;
  for (int skipped = 0; skipped < 2 && line > 0; ++skipped) {
    if (!trimmed(rows[line - 1]).empty() && !is_rule_row(rows[line - 1])) break;
    --line;
  }
  if (line == header) return std::nullopt;
  while (line > 0) {
    --line;
    if (is_call(rows[line])) return line;
    if (!is_indented(rows[line]) && !is_sibling(rows[line])) return std::nullopt;
  }
  return std::nullopt;
}

bool same_word(const Rows& rows, std::size_t line, const CallRow& call) {
  const std::string other = first_call_row(rows[line]).text;
  return other.substr(0, other.find(' ')) == call.text.substr(0, call.text.find(' '));
}

// Another waiting call of the same kind in the rows directly around this one.
bool another_waiting_call(const Rows& rows, std::size_t line, const CallRow& call) {
  while (line > 0) {
    --line;
    const bool is_another_call = is_call(rows[line]);
    if (is_another_call && trimmed(rows[line]).substr(0, call_arrow.size()) == call_arrow &&
        same_word(rows, line, call)) {
      return true;
    }
    if (!is_another_call && !is_indented(rows[line]) && !is_sibling(rows[line])) return false;
  }
  return false;
}

// "read_notes > shell requires approval" -> "shell"
std::string tool_of_header(std::string_view row) {
  row = trimmed(row);
  row.remove_suffix(std::string_view("requires approval").size());
  row = trimmed(row);
  const std::size_t last = row.rfind(' ');
  return std::string(last == std::string_view::npos ? row : row.substr(last + 1));
}

}  // namespace

std::string read_call_above(const Rows& rows, std::size_t header, std::size_t menu, Panel* panel) {
  if (menu != header + 1) return "rows that aren't known stand between the prompt's header and its choices";
  panel->tool = tool_of_header(rows[header]);
  if (panel->tool.empty()) return "the prompt's header names no tool";
  const std::optional<std::size_t> call = find_call(rows, header);
  if (!call) return "the call the prompt asks about isn't visible";
  panel->call.push_back(first_call_row(rows[*call]));
  const CallRow first = panel->call.front();
  for (std::size_t line = *call + 1; line < header && is_indented(rows[line]); ++line) {
    panel->call.push_back(further_row(rows[line], first.column));
  }
  panel->another_call = another_waiting_call(rows, *call, first);
  return {};
}

std::string read_call_below(const Rows& rows, std::size_t header, std::size_t menu, Panel* panel) {
  if (menu <= header + 1) return "the call the prompt asks about isn't visible";
  // Without the rule above it the header could be a line of the command.
  if (header == 0 || !is_rule_row(rows[header - 1])) return "no rule stands above the prompt's header";
  const std::size_t column = leading_blanks(rows[header + 1]);
  for (std::size_t line = header + 1; line < menu; ++line) {
    if (trimmed(rows[line]).empty()) return "a blank row stands inside the prompt";
    panel->call.push_back(further_row(rows[line], column));
  }
  return {};
}

}  // namespace oncelatch::elicitation
