#include "elicitation/panel_check.h"

#include <algorithm>

#include "elicitation/row_expression.h"

namespace oncelatch::elicitation {

namespace {

using policy::OptionKind;

constexpr std::size_t most_call_rows = 12;

bool kinds_agree(const Panel& panel, const std::vector<OptionKind>& kinds) {
  return std::equal(panel.rows.begin(), panel.rows.end(), kinds.begin(), kinds.end(),
                    [](const PanelRow& row, OptionKind kind) { return row.kind == kind; });
}

std::size_t count_kind(const Panel& panel, OptionKind kind) {
  return static_cast<std::size_t>(
      std::count_if(panel.rows.begin(), panel.rows.end(), [kind](const PanelRow& row) { return row.kind == kind; }));
}

}  // namespace

std::string check_screen(const Screen& screen, const WantedPanel& wanted) {
  if (screen.kind != ScreenKind::approval) return screen.why.empty() ? "no prompt on the screen" : screen.why;
  const Panel& panel = *screen.panel;
  switch (compare_call(panel, wanted.call)) {
    case CallMatch::different:
      return "the prompt on the screen is about something else";
    case CallMatch::unsure:
      return "several calls wait on the screen; which one is asked about is unclear";
    case CallMatch::same:
      break;
  }
  if (!kinds_agree(panel, wanted.kinds)) return "the prompt's choices aren't those of the request";
  if (count_kind(panel, OptionKind::allow_once) != 1 || count_kind(panel, OptionKind::reject_once) != 1) {
    return "the prompt has no single one-time choice";
  }
  if (wanted.record_in_doubt != nullptr && *wanted.record_in_doubt && panel.call.size() > 1) {
    return "part of the agent's record is unknown, and the call stands on several rows";
  }
  if (panel.call.size() > most_call_rows) return "the call is too long to be guarded";
  return {};
}

std::string check_single(const ScreenText& text, const Panel& panel) {
  std::vector<std::string> own{panel.header, panel.call.front().visible};
  for (const PanelRow& row : panel.rows) own.insert(own.end(), row.visible.begin(), row.visible.end());
  for (const std::string& row : own) {
    const auto times = std::count_if(text.rows.begin(), text.rows.end(),
                                     [&](const std::string& shown) { return row_expression_matches(row, shown); });
    if (times != 1) return "a row of the prompt stands on the screen more than once";
  }
  return {};
}

std::size_t target_row(const Panel& panel, policy::Verdict verdict) {
  const OptionKind kind = verdict == policy::Verdict::accept ? OptionKind::allow_once : OptionKind::reject_once;
  const auto row =
      std::find_if(panel.rows.begin(), panel.rows.end(), [kind](const PanelRow& r) { return r.kind == kind; });
  return static_cast<std::size_t>(row - panel.rows.begin());
}

std::vector<std::string> must_show(const Panel& panel) {
  std::vector<std::string> rows{panel.header};
  for (const CallRow& row : panel.call) rows.push_back(row.visible);
  for (const PanelRow& row : panel.rows) rows.insert(rows.end(), row.visible.begin(), row.visible.end());
  return rows;
}

bool same_but_focus(const Panel& a, const Panel& b) {
  return a.engine == b.engine && a.tool == b.tool && a.header == b.header && a.header_line == b.header_line &&
         a.call == b.call && a.columns == b.columns && a.lines == b.lines &&
         std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                    [](const PanelRow& left, const PanelRow& right) { return left.label == right.label; });
}

}  // namespace oncelatch::elicitation
