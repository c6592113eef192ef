#include "kiro_words.h"
#include "view.h"

#include <algorithm>

namespace kiro {
namespace {

const char* glyph(const Style& style, const char* unicode, const char* ascii) {
  return style.ascii ? ascii : unicode;
}

Lines classic_view(const PanelPicture& picture, std::size_t width) {
  Lines rows =
      wrap_words("Allow this action? Use 't' to trust (always allow) this tool for the session. [y/n/t]:", width);
  rows.emplace_back();
  rows.push_back("[demo] 16% λ > " + picture.typed);
  return rows;
}

Lines question_view(const PanelPicture& picture, const Style& style, std::size_t width) {
  Lines rows = {rule(style, width)};
  append(rows, padded(shown_text(picture.prompt->title, style), style, width));
  for (std::size_t i = 0; i < picture.prompt->options.size(); ++i) {
    append(rows, menu_row(picture.prompt->options[i].label, i == picture.cursor.row, style, width));
  }
  rows.push_back(rule(style, width));
  append(rows, padded("esc to close · ↑↓ to navigate · ↵ to select", style, width));
  return rows;
}

std::string status_row(const Composer& composer, std::size_t width) {
  std::string left = composer.agent + " · " + composer.model + " · ◔ 1%";
  const std::size_t used = display_width(left) + display_width(composer.directory);
  if (used + 1 > width) return wrap_words(left, width).front();
  return left + std::string(width - used, ' ') + composer.directory;
}

std::string composer_text(const Composer& composer, const Style& style) {
  if (!composer.text.empty()) return shown_text(composer.text, style);
  switch (composer.mood) {
    case Composer::Mood::Boot:
      return "Initializing · type to queue a message";
    case Composer::Mood::Busy:
      return "Kiro is working · " + std::to_string(composer.seconds) + "s · Type to steer · Ctrl+S to queue";
    case Composer::Mood::Idle:
      break;
  }
  return "ask a question or describe a task ↵";
}

}  // namespace

void append(Lines& rows, const Lines& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

std::string shown_text(const std::string& text, const Style& style) {
  return style.raw_escapes ? text : without_controls(text);
}

std::string rule(const Style& style, std::size_t width) {
  return repeated(glyph(style, "─", "-"), width);
}

Lines menu_row(const std::string& label, bool focused, const Style& style, std::size_t width) {
  const std::string mark = focused ? std::string(" ") + glyph(style, "❯", ">") + " " : "   ";
  Lines rows = wrap_with(mark, label, 3, width, style.pad_right);
  if (!style.colour || !focused) return rows;
  for (std::string& row : rows) row = "\x1b[36m" + row + "\x1b[39m";
  return rows;
}

Lines padded(const std::string& text, const Style& style, std::size_t width) {
  return wrap_with(" ", text, 1, width, style.pad_right);
}

Lines footer_rows(bool sees_more, const Style& style, std::size_t width) {
  if (style.upper_footer) return wrap_words("ESC to close · Tab to edit", width);
  if (sees_more) return padded("esc to close · Enter to see more options", style, width);
  return padded("esc to close · ↑↓ to navigate · ↵ to select · Tab to edit", style, width);
}

Lines editor_rows(const std::string& typed, const Style& style, std::size_t width) {
  Lines rows =
      wrap_with(" ›  ", typed.empty() ? "add your feedback..." : shown_text(typed, style), 4, width, style.pad_right);
  rows.push_back(rule(style, width));
  append(rows, padded(words::close, style, width));
  return rows;
}

Lines call_rows(const std::string& mark, const Prompt& prompt, const Style& style, std::size_t width) {
  return wrap_with(mark + " ", shown_text(prompt.call, style), 2, width, 0);
}

Lines panel_view(const PanelPicture& picture, const Style& style, std::size_t width) {
  if (picture.prompt->kind == PromptKind::Classic) return classic_view(picture, width);
  if (picture.prompt->kind == PromptKind::Question) return question_view(picture, style, width);
  return style.engine == Engine::V3 ? panel_view_v3(picture, style, width) : panel_view_v2(picture, style, width);
}

Lines composer_view(const Composer& composer, const Style& style, std::size_t width) {
  Lines rows;
  if (composer.mood == Composer::Mood::Busy && style.engine == Engine::V3) {
    rows.emplace_back("ᗦ Thinking... (esc to cancel)");
  }
  rows.push_back(rule(style, width));
  rows.push_back(status_row(composer, width));
  append(rows, wrap_with("›  ", composer_text(composer, style), 3, width, 0));
  return rows;
}

Lines picker_view(const Picker& picker, const Style& style, std::size_t width) {
  const bool plain = picker.look == "trust_all";
  Lines rows;
  if (picker.look.empty()) rows.push_back(rule(style, width));
  append(rows, plain ? wrap_words(picker.title, width) : padded(picker.title, style, width));
  for (std::size_t i = 0; i < picker.rows.size(); ++i) {
    const bool focused = picker.hotkeys.empty() && i == picker.wanted;
    Lines entry =
        picker.hotkeys.empty() ? menu_row(picker.rows[i], focused, style, width) : padded(picker.rows[i], style, width);
    if (plain && !entry.empty()) entry.front().erase(0, 1);
    append(rows, entry);
  }
  if (picker.look.empty()) rows.push_back(rule(style, width));
  if (!picker.footer.empty())
    append(rows, plain ? wrap_words(picker.footer, width) : padded(picker.footer, style, width));
  return rows;
}

}  // namespace kiro
