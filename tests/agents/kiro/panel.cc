#include "panel.h"

#include <algorithm>
#include <array>

namespace kiro {
namespace {

using What = PanelStep::What;

PanelStep nothing() {
  return {};
}
PanelStep redraw() {
  return {What::Redraw, {}};
}

PanelStep decide(Answer answer) {
  return {What::Decide, std::move(answer)};
}

PanelStep cancel() {
  Answer answer;
  answer.how = Answer::How::Cancelled;
  return decide(answer);
}

PanelStep choose(const std::string& option_id) {
  Answer answer;
  answer.option_id = option_id;
  return decide(answer);
}

PanelStep choose_kind(const Prompt& prompt, const std::string& kind) {
  for (const Option& option : prompt.options) {
    if (option.kind == kind) return choose(option.id);
  }
  return nothing();
}

// Up and Down on a list of `count` rows.
bool move(std::size_t& row, const std::string& key, std::size_t count, bool wraps) {
  if (count == 0) return false;
  const std::size_t before = row;
  if (key == "down") row = row + 1 < count ? row + 1 : wraps ? 0 : row;
  if (key == "up") row = row > 0 ? row - 1 : wraps ? count - 1 : row;
  return row != before;
}

void type(std::string& text, const Key& key) {
  if (key.name == "char" || key.name == "paste") text += key.text;
  if (key.name == "backspace" && !text.empty()) {
    while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
    text.pop_back();
  }
}

PanelStep press_classic(Panel& panel, const Key& key) {
  if (key.name == "esc" || key.name == "ctrl-c") return cancel();
  if (key.name != "enter") {
    type(panel.typed, key);
    return redraw();
  }
  const std::string letter = panel.typed;
  panel.typed.clear();
  if (letter == "y") return choose_kind(panel.prompt, "allow_once");
  if (letter == "n") return choose_kind(panel.prompt, "reject_once");
  if (letter == "t") return choose_kind(panel.prompt, "allow_always");
  return redraw();
}

PanelStep press_modify(Panel& panel, const Key& key, const Cursor& seen) {
  if (key.name == "esc" || key.name == "left") {
    panel.wanted.level = Level::Menu;
    panel.typed.clear();
    return redraw();
  }
  if (key.name == "enter" && seen.row < panel.prompt.options.size()) {
    PanelStep step = choose(panel.prompt.options[seen.row].id);
    step.answer.text = panel.typed;
    return step;
  }
  type(panel.typed, key);
  return redraw();
}

PanelStep press_trust(Panel& panel, const Key& key, const Style& style, const Cursor& seen) {
  const std::vector<TrustRow> rows = trust_rows(panel.prompt, style.engine, seen.scope);
  if (key.name == "esc" || key.name == "left") {
    panel.wanted.level = Level::Menu;
    return redraw();
  }
  if (style.engine == Engine::V3 && key.name == "char" && key.text == "s") {
    ++panel.wanted.scope;
    return redraw();
  }
  if (key.name == "enter" && seen.trust_row < rows.size() && seen.row < panel.prompt.options.size()) {
    PanelStep step = choose(panel.prompt.options[seen.row].id);
    step.answer.trust = rows[seen.trust_row].option;
    step.answer.scope = scope_name(seen.scope);
    return step;
  }
  return move(panel.wanted.trust_row, key.name, rows.size(), style.wrap_rows) ? redraw() : nothing();
}

PanelStep press_menu(Panel& panel, const Key& key, const Style& style, const Cursor& seen) {
  const std::vector<Option>& options = panel.prompt.options;
  if (key.name == "esc" || key.name == "ctrl-c") return cancel();
  if (key.name == "up" || key.name == "down") {
    return move(panel.wanted.row, key.name, options.size(), style.wrap_rows) ? redraw() : nothing();
  }
  if (seen.row >= options.size()) return nothing();
  const Option& option = options[seen.row];
  if (key.name == "enter") {
    if (!opens_trust(panel.prompt, option)) return choose(option.id);
    panel.wanted = seen;
    panel.wanted.level = Level::Trust;
    panel.wanted.trust_row = 0;
    return redraw();
  }
  const bool edits = key.name == "tab" || key.name == "right";
  if (edits && option.kind == "reject_once" && panel.prompt.kind == PromptKind::Approval) {
    panel.wanted = seen;
    panel.wanted.level = Level::Modify;
    return redraw();
  }
  return nothing();
}

}  // namespace

const std::string& scope_name(std::size_t scope) {
  static const std::array<std::string, 3> names = {"session", "workspace", "global"};
  return names[scope % names.size()];
}

std::vector<TrustRow> trust_rows(const Prompt& prompt, Engine engine, std::size_t scope) {
  std::vector<TrustRow> rows;
  if (engine == Engine::V3) {
    const std::string object = prompt.tool == "shell" ? prompt.command : prompt.path;
    const std::string pattern = object.substr(0, object.find_first_of(" \n")) + (prompt.tool == "shell" ? " *" : "");
    rows.push_back({"Trust \"" + pattern + "\"", "pattern · " + scope_name(scope), {}});
    rows.push_back(
        {"Trust entire tool (" + (prompt.tool == "shell" ? "Run Command" : prompt.title) + ")", scope_name(scope), {}});
    return rows;
  }
  for (const Json& option : prompt.trust) {
    rows.push_back({text_of(option, "label"), text_of(option, "display"), option});
  }
  if (!rows.empty()) rows.push_back({"Entire tool", "", {}});
  return rows;
}

bool opens_trust(const Prompt& prompt, const Option& option) {
  if (prompt.kind != PromptKind::Approval || option.kind != "allow_always") return false;
  if (option.id == "allow_all_session") return false;
  return !prompt.trust.empty() || option.id == "always-accept";
}

const char* screen_name(const Panel& panel) {
  switch (panel.drawn.level) {
    case Level::Trust:
      return "trust";
    case Level::Modify:
      return "modify";
    case Level::Menu:
      break;
  }
  return "panel";
}

std::string focused_row(const Panel& panel, const Style& style) {
  const Cursor& seen = panel.drawn;
  if (panel.prompt.kind == PromptKind::Classic || seen.level == Level::Modify) return "";
  if (seen.level == Level::Trust) {
    const std::vector<TrustRow> rows = trust_rows(panel.prompt, style.engine, seen.scope);
    return seen.trust_row < rows.size() ? rows[seen.trust_row].label : "";
  }
  return seen.row < panel.prompt.options.size() ? panel.prompt.options[seen.row].label : "";
}

PanelStep press(Panel& panel, const Key& key, const Style& style, Burst burst) {
  if (panel.prompt.kind == PromptKind::Classic) return press_classic(panel, key);
  const Cursor seen = burst == Burst::None ? panel.wanted : panel.drawn;
  if (key.name == "ctrl-c") return cancel();
  switch (panel.wanted.level) {
    case Level::Modify:
      return press_modify(panel, key, seen);
    case Level::Trust:
      // Enter that arrives before the sub-menu is drawn opens it again and decides nothing.
      if (seen.level != Level::Trust && key.name == "enter") return nothing();
      return press_trust(panel, key, style, seen);
    case Level::Menu:
      break;
  }
  return press_menu(panel, key, style, seen);
}

}  // namespace kiro
