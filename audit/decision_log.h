// Writes what elicitation and acp decide into the log, as rows of kind request, decision, delivering and outcome.
//
//   audit::DecisionLog recorder(log, redactor);
//   TRY(recorder.decided(prompt, request, decision, policy::Decider::policy));   // durable now
//
// Ownership: log and redactor outlive it. Threads: the log's. Failure: the log's; then no verdict may be delivered.
// Units: a text is kept whole up to 64 KiB (longest_text); beyond, FIELD is cut at a character and FIELD_cut says
// {"bytes":N,"sha256":HEX} of the whole redacted text. Lists likewise: FIELD_cut {"items":N,"sha256":HEX} of the whole
// list. After fork: don't touch it in the child.
#pragma once

#include <cstddef>

#include "audit/log.h"
#include "policy/recorder.h"
#include "redact/redactor.h"

namespace oncelatch::audit {

constexpr std::size_t longest_text = std::size_t{64} << 10;

class DecisionLog final : public policy::DecisionRecorder {
 public:
  DecisionLog(Log& log, const redact::Redactor& redactor) : log_(log), redactor_(redactor) {}

  Status request_seen(const policy::PromptId& prompt, const policy::PermissionRequest& request) override;
  Status decided(const policy::PromptId& prompt, const policy::PermissionRequest& request,
                 const policy::Decision& decision, policy::Decider decider) override;
  Status delivering(const policy::PromptId& prompt, policy::Verdict verdict, policy::Decider decider,
                    const std::string& shown_sha256) override;
  Status ended(const policy::PromptId& prompt, policy::Outcome outcome, const std::string& option_id,
               const std::string& detail) override;

 private:
  Log& log_;
  const redact::Redactor& redactor_;
};

}  // namespace oncelatch::audit
