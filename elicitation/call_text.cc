#include "elicitation/call_text.h"

#include <algorithm>
#include <utility>

#include "base/untrusted.h"
#include "policy/hidden_text.h"

namespace oncelatch::elicitation {

namespace {

// A panel's text area may be this much narrower than the screen (padding and borders on both sides).
constexpr std::size_t margin = 4;
constexpr std::string_view arrow = " \u2192 ";

std::string why_unshowable(std::string_view text) {
  if (text.empty()) return "the request names nothing";
  if (text.find_first_of("\n\r\v\f") != std::string_view::npos) return "the request has several lines";
  const std::string hidden = policy::hidden_text(text);
  return hidden.empty() ? std::string() : "the request has text a screen can't show (" + hidden + ")";
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

const CallWord* word_of_title(std::string_view title) {
  for (const CallWord& word : call_words()) {
    if (starts_with(title, word.title_prefix)) return &word;
  }
  return nullptr;
}

const CallWord* word_of_call(std::string_view text) {
  for (const CallWord& word : call_words()) {
    if (text == word.call_word || starts_with(text, std::string(word.call_word) + " ")) return &word;
  }
  return nullptr;
}

// Cells that the next row's first word needs.
std::size_t first_word_width(std::string_view text) {
  const std::size_t end = text.find(' ', text.find_first_not_of(' '));
  return display_width(text.substr(0, end));
}

bool blank_was_needed(const CallRow& row, const CallRow& next, std::size_t columns) {
  return row.column + display_width(row.text) + 1 + first_word_width(next.text) + margin > columns;
}

bool is_full(const CallRow& row, std::size_t columns) {
  return row.column + display_width(row.text) + margin + 1 >= columns;  // a wide character may leave one cell free
}

bool may_continue(const Panel& panel, std::size_t row) {
  const CallRow& here = panel.call[row];
  const CallRow& next = panel.call[row + 1];
  return next.column == here.column && blank_was_needed(here, next, panel.columns);
}

// Rows that Kiro itself puts below a call. For commands only these; the text of other tools (diffs) is free.
bool is_detail(const Panel& panel, const CallRow& row) {
  const std::string_view text = trimmed(row.visible);
  return panel.tool != "shell" || starts_with(text, "\u2570 ") || text == "esc to cancel";
}

bool rest_is_detail(const Panel& panel, std::size_t last) {
  if (last + 1 == panel.call.size()) return true;
  if (panel.engine == Engine::v3 || may_continue(panel, last)) return false;
  for (std::size_t row = last + 1; row < panel.call.size(); ++row) {
    if (!is_detail(panel, panel.call[row])) return false;
  }
  return true;
}

bool matches_rows(const Panel& panel, std::string_view want) {
  for (std::size_t row = 0; row < panel.call.size(); ++row) {
    const CallRow& here = panel.call[row];
    if (here.text.empty() || !starts_with(want, here.text)) return false;
    want.remove_prefix(here.text.size());
    if (want.empty()) return rest_is_detail(panel, row);
    if (row + 1 == panel.call.size() || panel.call[row + 1].column != here.column) return false;
    const CallRow& next = panel.call[row + 1];
    if (want.front() == ' ' && !next.text.empty() && next.text.front() != ' ') {
      if (!blank_was_needed(here, next, panel.columns)) return false;
      want.remove_prefix(1);
    } else if (!is_full(here, panel.columns)) {
      return false;
    }
  }
  return false;
}

std::string squeezed(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\v' && c != '\f') result += c;
  }
  return result;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find_first_of("\n\r"));
}

}  // namespace

CallText call_text_of_title(std::string_view title) {
  CallText result;
  result.source = title;
  result.unshowable = why_unshowable(title);
  const CallWord* word = word_of_title(title);
  if (word == nullptr) {
    // The title itself may stand in the call row; a known word in front must agree with the header.
    const CallWord* shown = word_of_call(title);
    result.forms.push_back({shown == nullptr ? std::string() : std::string(shown->tool), std::string(title)});
    return result;
  }
  const std::string_view object = title.substr(word->title_prefix.size());
  if (trimmed(object).empty()) {
    result.unshowable = "the request names nothing";
    return result;
  }
  result.forms.push_back({std::string(word->tool), std::string(word->call_word) + " " + std::string(object)});
  // The bare command was seen as well; not where it could be read as another tool's call.
  if (word->capability == policy::Capability::shell && word_of_call(object) == nullptr) {
    result.forms.push_back({std::string(word->tool), std::string(object)});
  }
  return result;
}

CallText call_text_of_resource(std::string_view capability, std::string_view resource) {
  CallText result;
  result.engine = Engine::v3;
  result.source = std::string(capability) + std::string(arrow) + std::string(resource);
  result.unshowable =
      capability.empty() || resource.empty() ? "the request names nothing" : why_unshowable(result.source);
  result.forms.push_back({std::string(), result.source});
  return result;
}

CallMatch compare_call(const Panel& panel, const CallText& call) {
  if (!call.unshowable.empty() || panel.call.empty() || panel.engine != call.engine) return CallMatch::different;
  const bool same = std::any_of(call.forms.begin(), call.forms.end(), [&](const CallForm& form) {
    return (form.tool.empty() || form.tool == panel.tool) && matches_rows(panel, form.text);
  });
  if (!same) return CallMatch::different;
  return panel.another_call ? CallMatch::unsure : CallMatch::same;
}

CallPrint print_of(const CallText& call) {
  return {digest_of(call.source), digest_of(squeezed(call.source)), digest_of(squeezed(first_line(call.source)))};
}

bool could_look_the_same(const CallPrint& a, const CallPrint& b) {
  if (a.exact == b.exact) return false;
  // Further lines may pass for the rows Kiro puts below a call.
  return a.squeezed == b.squeezed || a.first_line == b.squeezed || a.squeezed == b.first_line;
}

}  // namespace oncelatch::elicitation
