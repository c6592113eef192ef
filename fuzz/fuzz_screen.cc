// Screens: whatever stands there, reading it ends, and a panel that is reported is whole.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "elicitation/panel_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch::elicitation;
  ScreenText text;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    text.rows.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  text.columns = 40 + size % 161;
  const Screen screen = read_screen(text);
  if (screen.panel.has_value() != (screen.kind == ScreenKind::approval)) std::abort();
  if (screen.panel) {
    const Panel& panel = *screen.panel;
    if (panel.rows.size() < 2 || panel.focused >= panel.rows.size() || panel.call.empty()) std::abort();
    WantedPanel wanted{call_text_of_title("Running: pwd"), {}};
    for (const PanelRow& row : panel.rows) wanted.kinds.push_back(row.kind);
    // One call can't pass for two commands.
    const bool is_pwd = check_screen(screen, wanted).empty();
    wanted.call = call_text_of_title("Running: pwd -P");
    if (is_pwd && check_screen(screen, wanted).empty()) std::abort();
    (void)check_single(text, panel);
    (void)must_show(panel);
  }
  return 0;
}
