// The JSON report of `oncelatch exec`: what was asked, what held it, how it ended.
//
//   ExecReport report{...};
//   TRY(write_exec_report("report.json", report));
//
// Values of variables are never in it. Ownership: borrows what it points to. Threads: one. Failure: Error of stage
// "report". After fork: allocates. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/exec/plan.h"
#include "sandbox/enter.h"
#include "sandbox/host_facts.h"

namespace oncelatch::launcher {

struct ExecReport {
  const ExecOptions* options = nullptr;
  const ExecPlan* plan = nullptr;  // nullptr: refused before it was made
  const sandbox::HostFacts* facts = nullptr;
  const std::vector<sandbox::SelfTestResult>* self_test = nullptr;
  int code = 0;
  std::string reason;  // "exited", "signal", "time limit", "memory", …
  std::string error;
};

[[nodiscard]] std::string exec_report_text(const ExecReport& report);

// The directory is opened when the launch is checked: nothing the command does later leads the report elsewhere.
class ExecReportFile {
 public:
  ExecReportFile() = default;  // nowhere
  [[nodiscard]] static Result<ExecReportFile> open(const std::string& path);
  explicit operator bool() const { return static_cast<bool>(directory_); }
  [[nodiscard]] Status write(const ExecReport& report) const;

 private:
  Fd directory_;
  std::string name_;
};

}  // namespace oncelatch::launcher
