#include "policy/evaluate.h"

#include <algorithm>
#include <utility>

#include "base/untrusted.h"
#include "policy/hidden_text.h"
#include "policy/matching.h"

namespace oncelatch::policy {
namespace {

constexpr std::size_t kMostReasons = 512;
constexpr std::size_t kShown = 512;  // code points of a member in a reason

// For one subject: ask and deny by `touched`, allow by `allowed`.
template <class Touched, class Allowed>
void evaluate_subject(DecisionBuilder& builder, Capability capability, const std::string& shown, Touched touched,
                      Allowed allowed) {
  bool matched = false;
  for (const Rule& rule : builder.rules()) {
    if (!covers(rule, capability)) continue;
    if (!(rule.effect == Effect::allow ? allowed(rule) : touched(rule))) continue;
    builder.rule(rule, shown);
    builder.effect(rule.effect);
    matched = true;
  }
  if (!matched) builder.no_rule(shown);
}

void evaluate_path(DecisionBuilder& builder, Capability capability, std::string_view text, const std::string& shown) {
  const PathSubject path = path_subject(text, builder.facts());
  if (!path.unclear.empty()) {
    builder.floor(path.unclear, Effect::ask, shown,
                  path.unclear == "path-escapes" ? "the path leaves the workspace by '..'"
                                                 : "which file the path means isn't certain");
  }
  evaluate_subject(
      builder, capability, shown, [&](const Rule& rule) { return path_touched(rule, path, Case::exact); },
      [&](const Rule& rule) { return path_allowed(rule, path); });
  for (const Rule& rule : builder.rules()) {
    if (rule.effect == Effect::allow || !covers(rule, capability)) continue;
    if (path_touched(rule, path, Case::exact) || !path_touched(rule, path, Case::folded)) continue;
    builder.floor("case-variant", Effect::ask, shown, "but for upper and lower case, rule " + rule.id + " matches");
  }
}

void evaluate_url(DecisionBuilder& builder, std::string_view text, const std::string& shown) {
  const UrlSubject url = url_subject(text);
  if (!url.unclear.empty()) builder.floor(url.unclear, Effect::ask, shown, "readers may disagree about the host");
  evaluate_subject(
      builder, Capability::web_fetch, shown, [&](const Rule& rule) { return url_touched(rule, url); },
      [&](const Rule& rule) { return url_allowed(rule, url); });
}

void evaluate_name(DecisionBuilder& builder, Capability capability, std::string_view name, const std::string& shown) {
  const auto matches = [&](const Rule& rule) { return name_matches(rule, name, capability); };
  evaluate_subject(builder, capability, shown, matches, matches);
}

void common_floors(DecisionBuilder& builder, const PermissionRequest& request, const std::string& shown) {
  const std::string_view subject = request.subject.bytes();
  if (!request.subject_is_whole) {
    builder.floor("subject-not-whole", Effect::ask, shown, "only a part of what is asked for is known");
  }
  if (subject.empty()) builder.floor("empty-subject", Effect::ask, shown, "what is asked for isn't known");
  if (subject.find('\0') != std::string_view::npos) {
    builder.floor("nul-byte", Effect::deny, shown, "a NUL byte can't be part of a command, a path or a URL");
  }
  if (request.capability == Capability::shell) return;
  if (const std::string hidden = hidden_text(subject); !hidden.empty()) {
    builder.floor("hidden-text", Effect::ask, shown, "the subject holds a character that can't be seen: " + hidden);
  }
}

}  // namespace

void DecisionBuilder::add(Reason reason) {
  const auto same = [&](const Reason& other) {
    return other.rule == reason.rule && other.member == reason.member && other.text == reason.text;
  };
  if (std::any_of(decision_.reasons.begin(), decision_.reasons.end(), same)) return;
  if (decision_.reasons.size() < kMostReasons) {
    decision_.reasons.push_back(std::move(reason));
    return;
  }
  // Full: what refuses is kept before what allows.
  const auto weaker = std::find_if(decision_.reasons.begin(), decision_.reasons.end(),
                                   [&](const Reason& other) { return other.effect < reason.effect; });
  if (weaker != decision_.reasons.end()) *weaker = std::move(reason);
}

void DecisionBuilder::floor(const std::string& name, Effect severity, const std::string& member,
                            const std::string& text) {
  auto& names = decision_.floor;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  add({{}, severity, member, text});
  effect(severity);
}

void DecisionBuilder::rule(const Rule& rule, const std::string& member) {
  add({rule.id, rule.effect, member, rule.reason});
}

void DecisionBuilder::effect(Effect severity) {
  judged_ = true;
  effect_ = std::max(effect_, severity);
}

void DecisionBuilder::no_rule(const std::string& member) {
  add({{}, default_, member, "no rule matches"});
  effect(default_);
}

void DecisionBuilder::member(std::vector<std::string> argv, Effect severity) {
  decision_.members.push_back({std::move(argv), severity});
}

Decision DecisionBuilder::finish() && {
  decision_.effect = judged_ ? effect_ : std::max(Effect::ask, default_);
  return std::move(decision_);
}

std::string member_text(const std::vector<std::string>& argv) {
  return escape_for_display(quote_command(argv), kShown);
}

Decision evaluate(const std::vector<Rule>& rules, Effect default_effect, const PermissionRequest& request,
                  const Facts& facts) {
  DecisionBuilder builder(rules, default_effect, facts);
  const std::string shown = request.subject.display(kShown);
  const std::string_view subject = request.subject.bytes();
  common_floors(builder, request, shown);
  switch (request.capability) {
    case Capability::shell:
      evaluate_shell(builder, subject);
      break;
    case Capability::fs_read:
    case Capability::fs_write:
      evaluate_path(builder, request.capability, subject, shown);
      break;
    case Capability::web_fetch:
      evaluate_url(builder, subject, shown);
      break;
    case Capability::mcp:
    case Capability::subagent:
    case Capability::unknown:
      evaluate_name(builder, request.capability, subject, shown);
      break;
  }
  return std::move(builder).finish();
}

}  // namespace oncelatch::policy
