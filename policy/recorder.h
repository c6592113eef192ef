// How elicitation and acp write decisions down before anything is delivered. The launcher implements it on the audit
// log.
//
// Ownership: the launcher owns the recorder and outlives its users. Threads: called from one thread.
// Failure: an error means that no verdict may be delivered (fail closed).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/decision.h"
#include "policy/request.h"

namespace oncelatch::policy {

// Who decided. `nobody` goes with an ask that stays with the terminal.
enum class Decider { policy, person, unattended, nobody };
[[nodiscard]] std::string_view decider_name(Decider decider);

enum class Verdict { accept, decline };  // what is delivered: the allow_once or the reject_once option
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

// The identity of one prompt within a session.
struct PromptId {
  std::string request_id;   // JSON text of the id, so "7" and 7 differ: type and value
  std::string line_sha256;  // of the raw request line
  std::string local_id;     // ours, short, unique in the session ("p7"), shown to people
};

// Outcome of a prompt: how it ended, as the recorder told.
enum class Outcome {
  confirmed,     // the agent answered with the option that was delivered
  contradicted,  // the agent answered with another option than the delivered one: an incident
  elsewhere,     // answered in the terminal, not by us
  cancelled,     // the agent reports cancelled or an error
  failed,        // a check failed: no further key, the terminal keeps the prompt
  superseded,    // session ended or mirroring stopped with the prompt open
};
[[nodiscard]] std::string_view outcome_name(Outcome outcome);

class DecisionRecorder {
 public:
  virtual ~DecisionRecorder() = default;
  virtual Status request_seen(const PromptId& prompt, const PermissionRequest& request) = 0;
  // Durable when it returns success.
  virtual Status decided(const PromptId& prompt, const PermissionRequest& request, const Decision& decision,
                         Decider decider) = 0;
  // Durable when it returns success: a person's or the policy's verdict that is about to be typed.
  virtual Status delivering(const PromptId& prompt, Verdict verdict, Decider decider,
                            const std::string& shown_sha256) = 0;
  // `detail` is our own text (which check failed), already safe for display. `option_id` is display-escaped.
  virtual Status ended(const PromptId& prompt, Outcome outcome, const std::string& option_id,
                       const std::string& detail) = 0;
};

}  // namespace oncelatch::policy
