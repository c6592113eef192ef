#include <fmt/format.h>

#include "approvals/broker.h"
#include "approvals/message.h"
#include "base/untrusted.h"

namespace oncelatch::approvals {
namespace {

Json fields_of(const Card& card) {
  return Json{{"local_id", card.local_id},
              {"agent", card.agent},
              {"capability", card.capability},
              {"title", card.title},
              {"subject", card.subject},
              {"members", card.members},
              {"reasons", card.reasons},
              {"working_directory", card.working_directory},
              {"since", card.since}};
}

// What isn't replaced in place but still holds a credential in some form becomes the marker whole.
std::string shown(std::string_view raw, const redact::Redactor& redactor) {
  std::string clean = redactor.text(raw);
  if (redactor.contains_secret(clean)) clean = redactor.marker();
  return escape_for_display(clean, clean.size());
}

// Single quotes around what isn't one plain word, so that the borders of arguments are seen.
std::string quoted(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word) {
    if (letter == '\'')
      text += "'\\''";
    else
      text += letter;
  }
  return text + "'";
}

// Redacted word by word, since quoting may hide a credential, and as a line, since blanks may be part of one.
std::string argv_line(const policy::Member& member, const redact::Redactor& redactor) {
  std::string line;
  for (const std::string& word : member.argv) {
    if (!line.empty()) line += ' ';
    line += quoted(redactor.text(word));
  }
  return shown(line, redactor);
}

std::string reason_line(const policy::Reason& reason) {
  std::string line = fmt::format("{}: {}", policy::effect_name(reason.effect),
                                 reason.rule.empty() ? std::string("no rule") : "rule " + reason.rule);
  if (!reason.text.empty()) line += ": " + reason.text;
  if (!reason.member.empty()) line += " [" + reason.member + "]";
  return line;
}

}  // namespace

std::string Card::digest() const {
  return card_digest(fields_of(*this));
}

Json Card::json() const {
  Json all = fields_of(*this);
  all["digest"] = card_digest(all);
  return all;
}

Card make_card(const policy::PromptId& prompt, const policy::PermissionRequest& request,
               const policy::Decision& decision, const redact::Redactor& redactor, const Clock& clock) {
  Card card;
  card.local_id = prompt.local_id;
  card.capability = policy::capability_name(request.capability);
  card.title = shown(request.title.bytes(), redactor);
  card.subject = shown(request.subject.bytes(), redactor);
  for (const policy::Member& member : decision.members) card.members.push_back(argv_line(member, redactor));
  for (const policy::Reason& reason : decision.reasons) card.reasons.push_back(shown(reason_line(reason), redactor));
  for (const std::string& floor : decision.floor) card.reasons.push_back(shown("floor: " + floor, redactor));
  if (!request.subject_is_whole) card.reasons.emplace_back("the subject isn't known whole");
  card.since = rfc3339(clock.wall());
  return card;
}

}  // namespace oncelatch::approvals
