#include "elicitation/screen_table.h"

#include <array>

namespace oncelatch::elicitation {

namespace {

using policy::Capability;
using policy::OptionKind;

constexpr std::array<RowLabel, 8> labels{{
    {Engine::v2, "Yes, single permission", OptionKind::allow_once},
    {Engine::v2, "Trust, always allow in this session", OptionKind::allow_always},
    {Engine::v2, "No (Tab to edit)", OptionKind::reject_once},
    // An option id without a label of its own shows the option's name; this name was seen in 2.4.1 (sub-agents).
    {Engine::v2, "Allow all for this session", OptionKind::allow_always},
    {Engine::v3, "Allow", OptionKind::allow_once},
    {Engine::v3, "Always allow", OptionKind::allow_always},
    {Engine::v3, "Deny", OptionKind::reject_once},
    {Engine::v3, "Always deny", OptionKind::reject_always},
}};

// "Running: " was seen in recordings; the other prefixes follow the one seen for reading ("Reading a.md:1"). A wrong
// guess here never matches and so never sends a key.
constexpr std::array<CallWord, 9> words{{
    {"Running: ", "Shell", "shell", Capability::shell},
    {"Reading ", "Read", "read", Capability::fs_read},
    {"Writing ", "Write", "write", Capability::fs_write},
    {"Creating ", "Write", "write", Capability::fs_write},
    {"Editing ", "Write", "write", Capability::fs_write},
    {"Searching ", "Grep", "grep", Capability::fs_read},
    {"Fetching ", "Web Fetch", "web_fetch", Capability::web_fetch},
    {"Searching the web: ", "Web Search", "web_search", Capability::web_fetch},
    {"Using AWS: ", "Use AWS", "use_aws", Capability::unknown},
}};

constexpr std::array<std::string_view, 5> before_call{call_arrow, "\u25cf", "\u25cb", "\u2713", "\u2717"};  // ↓ ● ○ ✓ ✗
constexpr std::array<std::string_view, 3> before_sibling{"\u2022", "\u25d0", "\u25c7"};  // • ◐ ◇

}  // namespace

std::string_view engine_name(Engine engine) {
  return engine == Engine::v2 ? "v2" : "v3";
}

std::span<const RowLabel> row_labels() {
  return labels;
}

const RowLabel* find_label(Engine engine, std::string_view text) {
  for (const RowLabel& row : labels) {
    if (row.engine == engine && row.label == text) return &row;
  }
  return nullptr;
}

const RowLabel* find_any_label(std::string_view text) {
  const RowLabel* found = find_label(Engine::v2, text);
  return found != nullptr ? found : find_label(Engine::v3, text);
}

std::span<const CallWord> call_words() {
  return words;
}
std::span<const std::string_view> call_glyphs() {
  return before_call;
}
std::span<const std::string_view> sibling_glyphs() {
  return before_sibling;
}

}  // namespace oncelatch::elicitation
