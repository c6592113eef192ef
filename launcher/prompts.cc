#include "launcher/prompts.h"

namespace oncelatch::launcher {
namespace {

constexpr std::size_t kMostReported = 1000;  // ended prompts kept for the report
constexpr std::size_t kMostOpen = 256;       // the mirror has fewer

Json reasons_of(const policy::Decision& decision) {
  Json reasons = Json::array();
  for (const policy::Reason& reason : decision.reasons) {
    reasons.push_back({{"rule", reason.rule},
                       {"effect", policy::effect_name(reason.effect)},
                       {"member", escape_for_display(reason.member, 400)},
                       {"text", escape_for_display(reason.text, 400)}});
  }
  return reasons;
}

}  // namespace

std::string Prompts::public_id(const policy::PromptId& prompt) const {
  const std::string& session = setup_.session_id;
  return session.substr(session.size() < 4 ? 0 : session.size() - 4) + "-" + prompt.local_id;
}

void Prompts::tell(const std::string& kind, Json body) {
  Json message = body;
  message["kind"] = "event";
  message["event"] = kind;
  setup_.tell_front_ends(setup_.redactor->value(message));
  setup_.events->emit(kind, std::move(body));
}

void Prompts::decided(const policy::PromptId& prompt, const policy::PermissionRequest& request,
                      const policy::Decision& decision, policy::Decider decider, bool waiting,
                      const std::string& only_terminal) {
  take(setup_.agent, prompt, request, decision, decider, waiting, only_terminal);
}

void Prompts::held(const policy::PromptId& prompt, const policy::PermissionRequest& request,
                   const policy::Decision& decision, policy::Decider decider, bool waiting) {
  take("workspace guard", prompt, request, decision, decider, waiting, "");
}

void Prompts::take(const std::string& origin, const policy::PromptId& prompt, const policy::PermissionRequest& request,
                   const policy::Decision& decision, policy::Decider decider, bool waiting,
                   const std::string& only_terminal) {
  Json body = {{"id", public_id(prompt)},
               {"origin", origin},
               {"capability", policy::capability_name(request.capability)},
               {"title", request.title.display(400)},
               {"subject", request.subject.display(400)},
               {"decision", policy::effect_name(decision.effect)},
               {"decider", policy::decider_name(decider)},
               {"reasons", reasons_of(decision)},
               {"floor", decision.floor}};
  if (!only_terminal.empty()) body["only_terminal"] = only_terminal;
  if (decider != policy::Decider::nobody) {
    body["verdict"] = policy::verdict_name(decision.effect == policy::Effect::allow ? policy::Verdict::accept
                                                                                    : policy::Verdict::decline);
  }
  bool refused =
      decision.effect == policy::Effect::deny || (setup_.unattended && decision.effect != policy::Effect::allow);
  denied_ = denied_ || refused;
  ++count_;
  if (open_.size() < kMostOpen) open_[prompt.local_id] = body;
  if (waiting) {
    approvals::Card card = approvals::make_card(prompt, request, decision, *setup_.redactor, *setup_.clock);
    card.agent = origin;
    card.working_directory = setup_.working_directory;
    setup_.broker->offer(std::move(card));
  }
  if (setup_.unattended && !only_terminal.empty())
    stuck_ = public_id(prompt) + " can only be answered in the terminal: " + only_terminal;
  tell(waiting ? "waiting_for_permission" : "decided", std::move(body));
}

void Prompts::answered(const std::string& local_id, policy::Verdict verdict) {
  auto found = open_.find(local_id);
  if (found == open_.end()) return;
  found->second["decider"] = policy::decider_name(policy::Decider::person);
  found->second["verdict"] = policy::verdict_name(verdict);
  tell("answered", {{"id", found->second["id"]},
                    {"title", found->second["title"]},
                    {"verdict", policy::verdict_name(verdict)},
                    {"decider", "person"}});
}

void Prompts::ended(const policy::PromptId& prompt, policy::Outcome outcome, const std::string& detail) {
  setup_.broker->withdraw(prompt.local_id, detail);
  if (setup_.unattended && outcome == policy::Outcome::failed)
    stuck_ = public_id(prompt) + " could not be answered: " + detail;
  Json body = {{"id", public_id(prompt)}, {"outcome", policy::outcome_name(outcome)}, {"detail", detail}};
  auto found = open_.find(prompt.local_id);
  if (found != open_.end()) {
    found->second["outcome"] = body["outcome"];
    found->second["detail"] = detail;
    body["title"] = found->second["title"];
    if (found->second.contains("verdict")) body["verdict"] = found->second["verdict"];
    ended_.push_back(dump_json(found->second));
    open_.erase(found);
  }
  if (ended_.size() > kMostReported) ended_.pop_front();
  tell("prompt_ended", std::move(body));
}

void Prompts::stopped(const std::string& reason) {
  stop_reason_ = reason;
  if (setup_.unattended) stuck_ = "prompts are no longer seen: " + reason;
  tell("mirror_stopped", {{"reason", reason}});
}

Json Prompts::report() const {
  Json all = Json::array();
  for (const std::string& text : ended_) {
    Result<Json> one = parse_json(text, {}, "report");
    if (one) all.push_back(std::move(*one));
  }
  for (const auto& entry : open_) all.push_back(entry.second);
  return all;
}

}  // namespace oncelatch::launcher
