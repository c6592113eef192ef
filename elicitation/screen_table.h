// What Kiro's approval panel can show, as data: menu labels, the words of call rows, glyphs, footers.
//
//   if (const RowLabel* label = find_label(Engine::v2, "No (Tab to edit)")) use(label->kind);
//
// Ownership: static tables. Threads: constants. Failure: not found is nullptr. After fork: safe.
// Source: contracts/kiro-tui.md 4 (2.4.1 to 2.27). A label that isn't here makes the panel unknown: no key.
#pragma once

#include <span>
#include <string_view>

#include "policy/request.h"

namespace oncelatch::elicitation {

enum class Engine { v2, v3 };
[[nodiscard]] std::string_view engine_name(Engine engine);

struct RowLabel {
  Engine engine;
  std::string_view label;
  policy::OptionKind kind;
};
[[nodiscard]] std::span<const RowLabel> row_labels();
[[nodiscard]] const RowLabel* find_label(Engine engine, std::string_view text);
// Of either engine; for option names that imitate a label.
[[nodiscard]] const RowLabel* find_any_label(std::string_view text);

// V2: a request's title "Running: ls" stands as "Shell ls" in the call row above a panel headed "shell requires
// approval".
struct CallWord {
  std::string_view title_prefix;
  std::string_view call_word;
  std::string_view tool;
  policy::Capability capability;
};
[[nodiscard]] std::span<const CallWord> call_words();

inline constexpr std::string_view focus_mark = "\u276f";  // ❯
inline constexpr std::string_view rule_glyph = "\u2500";  // ─
inline constexpr std::string_view call_arrow = "\u2193";  // ↓, a call that waits
// Glyphs that may stand before the call of a panel.
[[nodiscard]] std::span<const std::string_view> call_glyphs();
// Glyphs of rows that belong to other calls or to a list of tasks.
[[nodiscard]] std::span<const std::string_view> sibling_glyphs();

}  // namespace oncelatch::elicitation
