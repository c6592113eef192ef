#include "launcher/held_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "audit/chain.h"
#include "base/untrusted.h"
#include "sandbox/guarded_names.h"

namespace oncelatch::launcher {
namespace {

constexpr int kMostAtOnce = 16;
constexpr std::size_t kMostOpen = 2 * std::size_t{sandbox::kMostQuestions};

std::string reason_of(const char* path) {
  const sandbox::GuardedName* row = sandbox::guarded_name(path);
  if (row == nullptr) row = sandbox::guarded_name_below(path);
  return row == nullptr ? "what takes effect outside lies in it" : row->reason;
}

policy::PromptId prompt_id(const sandbox::HeldMessage& message) {
  const std::string name = fmt::format("g{}", message.ticket);
  const std::string_view bytes(message.path, message.path_size);
  const char* use = sandbox::kHeldUseNames[static_cast<unsigned>(message.use)];
  return {dump_json(Json(name)), audit::sha256_hex(fmt::format("{} {} {}", name, use, bytes)), name};
}

}  // namespace

std::vector<pollfd> HeldPrompts::poll_fds() const {
  if (!channel_) return {};
  return {{channel_.get(), POLLIN, 0}};
}

std::optional<Nanoseconds> HeldPrompts::next_deadline() const {
  std::optional<Nanoseconds> first;
  for (const auto& [ticket, open] : open_)
    if (!open.answered && (!first || open.deadline < *first)) first = open.deadline;
  return first;
}

std::size_t HeldPrompts::waiting() const {
  auto waits = [](const auto& one) { return !one.second.answered; };
  return static_cast<std::size_t>(std::count_if(open_.begin(), open_.end(), waits));
}

void HeldPrompts::handle_ready() {
  sandbox::HeldMessage message;
  for (int i = 0; i < kMostAtOnce && sandbox::receive_held(channel_, message); ++i) take(message);
  expire();
}

void HeldPrompts::take(const sandbox::HeldMessage& message) {
  if (message.kind == sandbox::HeldKind::ask) return ask(message);
  const Place place = open_.find(message.ticket);
  if (place == open_.end()) return;
  if (message.kind == sandbox::HeldKind::done && place->second.answered) return done(place, message.error);
  if (message.kind == sandbox::HeldKind::withdrawn) end(place, policy::Outcome::superseded, "the call waits no longer");
}

policy::PermissionRequest HeldPrompts::request_for(const sandbox::HeldMessage& message) const {
  const std::string path(message.path, message.path_size);
  const bool is_text = valid_utf8(path);
  const std::string subject = is_text ? path : escape_for_display(path, path.size());
  const bool inside = subject.rfind(setup_.workspace + "/", 0) == 0;
  policy::PermissionRequest request;
  request.tool_call_id = Untrusted(fmt::format("process {}", message.caller));
  request.title = Untrusted(
      fmt::format("workspace guard: {} {} ({})", sandbox::kHeldUseNames[static_cast<unsigned>(message.use)],
                  inside ? subject.substr(setup_.workspace.size() + 1) : subject, reason_of(path.c_str() + 1)));
  request.capability = policy::Capability::fs_write;
  request.subject = Untrusted(subject);
  request.subject_is_whole = is_text;  // what no text can say is never allowed by a rule
  return request;
}

// Seen, decided and written down; then answered, or shown to a person.
void HeldPrompts::ask(const sandbox::HeldMessage& message) {
  const bool room = open_.size() < kMostOpen;
  if (!room || open_.count(message.ticket) != 0) {
    if (!room) (void)sandbox::answer_held(channel_, message.ticket, sandbox::HeldVerdict::refused);
    ++refused_;
    return;
  }
  ++asked_;
  const policy::PermissionRequest request = request_for(message);
  const policy::Decision decision = setup_.decide(request);
  const bool open = decision.effect == policy::Effect::ask;
  const policy::Decider decider = !open               ? policy::Decider::policy
                                  : setup_.unattended ? policy::Decider::unattended
                                                      : policy::Decider::nobody;
  const Place place = open_.emplace(message.ticket, Open{.id = prompt_id(message)}).first;
  place->second.deadline = setup_.clock->monotonic() + kPatience;
  const policy::PromptId& id = place->second.id;
  const bool recorded = setup_.decisions->request_seen(id, request).has_value() &&
                        setup_.decisions->decided(id, request, decision, decider).has_value();
  const bool waits = recorded && decider == policy::Decider::nobody;
  setup_.prompts->held(id, request, decision, decider, waits);
  if (!recorded) return refuse_unrecorded(place, "the decision could not be recorded");
  if (waits) return;
  const bool allowed = decision.effect == policy::Effect::allow;
  (void)deliver(place, allowed ? policy::Verdict::accept : policy::Verdict::decline, decider, "");
}

// Durable first.
Status HeldPrompts::deliver(Place place, policy::Verdict verdict, policy::Decider decider,
                            const std::string& shown_sha256) {
  Open& open = place->second;
  Status recorded = setup_.decisions->delivering(open.id, verdict, decider, shown_sha256);
  if (!recorded) {
    refuse_unrecorded(place, "the answer could not be recorded");
    return recorded;
  }
  open.answered = true;
  open.allowed = verdict == policy::Verdict::accept;
  ++(open.allowed ? allowed_ : refused_);
  const auto answer = open.allowed ? sandbox::HeldVerdict::allowed : sandbox::HeldVerdict::refused;
  if (!sandbox::answer_held(channel_, place->first, answer))
    end(place, policy::Outcome::failed, "the answer could not be delivered");
  return {};
}

void HeldPrompts::refuse_unrecorded(Place place, const std::string& detail) {
  ++refused_;
  (void)sandbox::answer_held(channel_, place->first, sandbox::HeldVerdict::refused);
  end(place, policy::Outcome::failed, detail);
}

// An answer is about one place: where the name meant another one by then, the call got EACCES.
void HeldPrompts::done(Place place, int error) {
  const bool failed = place->second.allowed && error != 0;
  end(place, policy::Outcome::confirmed, failed ? fmt::format("the call failed: {}", std::strerror(error)) : "");
}

void HeldPrompts::expire() {
  const Nanoseconds now = setup_.clock->monotonic();
  for (Place place = open_.begin(); place != open_.end();) {
    const Place next = std::next(place);
    if (!place->second.answered && place->second.deadline <= now)
      (void)deliver(place, policy::Verdict::decline, policy::Decider::nobody, "");
    place = next;
  }
}

Status HeldPrompts::answer(const approvals::Answer& answer) {
  auto same = [&](const auto& one) { return one.second.id.local_id == answer.local_id; };
  const Place place = std::find_if(open_.begin(), open_.end(), same);
  if (place == open_.end() || place->second.answered)
    return fail("workspace guard", answer.local_id, "the call waits no longer");
  return deliver(place, answer.verdict, policy::Decider::person, answer.shown_sha256);
}

void HeldPrompts::end(Place place, policy::Outcome outcome, const std::string& detail) {
  (void)setup_.decisions->ended(place->second.id, outcome, "", detail);
  setup_.prompts->ended(place->second.id, outcome, detail);
  open_.erase(place);
}

void HeldPrompts::finish(const std::string& why) {
  handle_ready();
  while (!open_.empty()) end(open_.begin(), policy::Outcome::superseded, why);
  channel_.reset();
}

Json HeldPrompts::counts() const {
  return {{"mode", "ask"}, {"asked", asked_}, {"allowed", allowed_}, {"refused", refused_}};
}

}  // namespace oncelatch::launcher
