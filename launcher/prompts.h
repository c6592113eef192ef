// What happened to each prompt, told to everybody who wants to know: cards for people, events, front ends, the report.
//
//   Prompts prompts(setup);      // the mirror's listener
//   for (const Answer& answer : broker.handle_ready()) mirror.answer(...)
//
// Ownership: everything in PromptsSetup is the supervisor's and outlives it. Threads: one. Failure: none of its own;
// what can't be told is lost, the record (audit) is written by the mirror before. After fork: no.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "approvals/broker.h"
#include "base/json.h"
#include "elicitation/mirror.h"
#include "launcher/report.h"

namespace oncelatch::launcher {

struct PromptsSetup {
  std::string session_id;
  std::string agent;
  std::string working_directory;
  bool unattended = false;
  approvals::Broker* broker = nullptr;
  Events* events = nullptr;
  const redact::Redactor* redactor = nullptr;
  const Clock* clock = nullptr;
  std::function<void(const Json&)> tell_front_ends;
};

class Prompts final : public elicitation::MirrorListener {
 public:
  explicit Prompts(PromptsSetup setup) : setup_(std::move(setup)) {}

  void decided(const policy::PromptId& prompt, const policy::PermissionRequest& request,
               const policy::Decision& decision, policy::Decider decider, bool waiting,
               const std::string& only_terminal) override;
  void ended(const policy::PromptId& prompt, policy::Outcome outcome, const std::string& detail) override;
  void stopped(const std::string& reason) override;

  // The same of a question of the workspace guard (launcher/held_prompts.h).
  void held(const policy::PromptId& prompt, const policy::PermissionRequest& request, const policy::Decision& decision,
            policy::Decider decider, bool waiting);

  // A person's verdict was taken for delivery.
  void answered(const std::string& local_id, policy::Verdict verdict);

  // For the report: one object a prompt, in order of their ends, the newest 1,000; the open ones last.
  [[nodiscard]] Json report() const;
  [[nodiscard]] std::size_t count() const { return count_; }
  // A prompt was denied by policy, or nobody answered it, or it could not be answered.
  [[nodiscard]] bool any_denied() const { return denied_; }
  [[nodiscard]] const std::string& stop_reason() const { return stop_reason_; }
  // Unattended, and a prompt is open that nobody will ever answer: why. Otherwise empty.
  [[nodiscard]] const std::string& stuck() const { return stuck_; }

 private:
  [[nodiscard]] std::string public_id(const policy::PromptId& prompt) const;
  void tell(const std::string& kind, Json body);
  // `origin`: who asks, as a card says.
  void take(const std::string& origin, const policy::PromptId& prompt, const policy::PermissionRequest& request,
            const policy::Decision& decision, policy::Decider decider, bool waiting, const std::string& only_terminal);

  PromptsSetup setup_;
  std::map<std::string, Json> open_;  // by local id
  std::deque<std::string> ended_;     // as JSON text: a day of prompts stays small
  std::size_t count_ = 0;
  bool denied_ = false;
  std::string stop_reason_;
  std::string stuck_;
};

}  // namespace oncelatch::launcher
