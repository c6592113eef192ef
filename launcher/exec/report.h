// The JSON report of `oncelatch exec`: what was asked, what held it, how it ended.
//
//   ExecReport report{...};
//   TRY(file.write(exec_report_text(report)));
//
// Values of variables are never in it. Ownership: borrows what it points to. Threads: one. Failure: none. After fork:
// allocates. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/after_run.h"
#include "launcher/exec/plan.h"
#include "launcher/exec/refused_names.h"
#include "sandbox/enter.h"
#include "sandbox/host_facts.h"

namespace oncelatch::launcher {

struct ExecReport {
  const ExecOptions* options = nullptr;
  const ExecPlan* plan = nullptr;  // nullptr: refused before it was made
  const sandbox::HostFacts* facts = nullptr;
  const std::vector<sandbox::SelfTestResult>* self_test = nullptr;
  int code = 0;
  std::string reason;              // "exited", "signal", "time limit", "memory", …
  bool refused_processes = false;  // it ended by itself where it could make no more
  std::string error;
  std::string changes;                          // id of what an overlay kept apart; empty: nothing
  const RefusedNames* refused_names = nullptr;  // nullptr: it didn't run
  const AfterRunReport* after_run = nullptr;    // nullptr: nobody looked
};

[[nodiscard]] std::string exec_report_text(const ExecReport& report);

}  // namespace oncelatch::launcher
