// What a run was, as one JSON object (--report) and as JSON lines while it goes on (--events). Both redacted.
//
//   Events events = TRY(Events::open("fd:3", redactor, clock));
//   events.emit("waiting_for_permission", {{"id", "k3f9-p1"}});
//   TRY(write_report(file, report, redactor));
//
// Ownership: Events owns its descriptor; the redactor and clock outlive it. Threads: one. Failure: an events file that
// can't be opened refuses the launch; one that stops taking bytes is closed and said so in the report. After fork: no.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"
#include "launcher/report_file.h"
#include "redact/redactor.h"

namespace oncelatch::launcher {

class Events {
 public:
  Events() = default;  // goes nowhere
  // `target`: empty, a file name (created 0600, appended) or "fd:N".
  [[nodiscard]] static Result<Events> open(const std::string& target, const redact::Redactor& redactor,
                                           const Clock& clock);
  void emit(const std::string& kind, Json body);
  [[nodiscard]] bool lost() const { return lost_; }

 private:
  Fd file_;
  const redact::Redactor* redactor_ = nullptr;
  const Clock* clock_ = nullptr;
  bool lost_ = false;
};

// Refuses to write when a secret would still be in the bytes.
[[nodiscard]] Status write_report(const ReportFile& file, const Json& report, const redact::Redactor& redactor);

}  // namespace oncelatch::launcher
