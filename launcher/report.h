// What a run was, as one JSON object (--report) and as JSON lines while it goes on (--events). Both redacted.
//
//   Events events = TRY(Events::open("fd:3", redactor, clock));
//   events.emit("waiting_for_permission", {{"id", "k3f9-p1"}});
//   ReportTarget target = TRY(ReportTarget::open("report.json"));
//   TRY(target.write(report, redactor));
//
// Ownership: Events owns its descriptor; the redactor and clock outlive it. Threads: one. Failure: an events file that
// can't be opened refuses the launch; one that stops taking bytes is closed and said so in the report. After fork: no.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"
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

// The report's directory, opened when the launch is checked: nothing the agent does later leads the report elsewhere.
class ReportTarget {
 public:
  ReportTarget() = default;  // nowhere
  [[nodiscard]] static Result<ReportTarget> open(const std::string& path);
  explicit operator bool() const { return static_cast<bool>(directory_); }
  // The directory's path; empty when there is no report.
  [[nodiscard]] std::string place() const;
  // Refuses to write when a secret would still be in the bytes.
  [[nodiscard]] Status write(const Json& report, const redact::Redactor& redactor) const;

 private:
  Fd directory_;
  std::string name_;
};

}  // namespace oncelatch::launcher
