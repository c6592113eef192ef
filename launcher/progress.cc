#include "launcher/progress.h"

#include <fmt/core.h>

#include "base/untrusted.h"
#include "launcher/messages.h"

namespace oncelatch::launcher {
namespace {

constexpr std::size_t kMostShown = 300;

std::string field(const Json& event, const char* key) {
  const std::string* text = json_string(event, key);
  return text != nullptr ? escape_for_display(*text, kMostShown) : std::string();
}

std::string first_reason(const Json& event) {
  const Json* reasons = json_array(event, "reasons");
  if (reasons == nullptr || reasons->empty()) return {};
  std::string rule = field((*reasons)[0], "rule");
  std::string text = field((*reasons)[0], "text");
  if (rule.empty() && text.empty()) return {};
  return " (" + (rule.empty() ? text : "rule " + rule + (text.empty() ? "" : ": " + text)) + ")";
}

}  // namespace

void print_progress(const Json& event) {
  std::string kind = field(event, "event");
  std::string id = field(event, "id");
  if (kind == "waiting_for_permission") {
    tell(
        fmt::format("{} waits for a person: {}\n  answer: oncelatch approvals accept {}   or: oncelatch "
                    "approvals decline {}",
                    id, field(event, "title"), id, id));
  } else if (kind == "decided") {
    std::string terminal = field(event, "only_terminal");
    tell(fmt::format("{} {}: {}{}{}", id, field(event, "decision"), field(event, "title"), first_reason(event),
                     terminal.empty() ? "" : "; only in the terminal: " + terminal));
  } else if (kind == "prompt_ended") {
    std::string detail = field(event, "detail");
    std::string verdict = field(event, "verdict");
    if (!verdict.empty()) verdict = verdict == "accept" ? "accepted, " : "declined, ";
    tell(fmt::format("{} {}{}{}", id, verdict, field(event, "outcome"), detail.empty() ? "" : ": " + detail));
  } else if (kind == "mirror_stopped") {
    tell("prompts are no longer mirrored: " + field(event, "reason"));
  } else if (kind == "report_failed") {
    tell(field(event, "error"));
  }
}

}  // namespace oncelatch::launcher
