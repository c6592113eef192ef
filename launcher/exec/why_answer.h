// The parts of `oncelatch why`: each kind of object is answered by one function, and all are told by one.
//
//   WhyAnswer answer = TRY(why_path(question, {options, plan, facts, environment}));
//
// Ownership: values; borrows the case. Threads: one. Failure: Error of the step that failed. After fork: not used. Part
// of the light program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/exec/live_probe.h"
#include "launcher/exec/plan.h"
#include "sandbox/host_facts.h"
#include "sandbox/view_answer.h"

namespace oncelatch::launcher {

struct WhyCase {
  const ExecOptions& options;
  const ExecPlan& plan;
  const sandbox::HostFacts& facts;
  const std::vector<std::string>& environment;
};

// One line of the table: what the plan says and what the attempt got.
struct WhyRow {
  std::string what;
  sandbox::Answer plan = sandbox::Answer::depends;
  std::optional<int> tried{};  // errno, 0: done; none: not tried
  std::string not_tried{};     // why
  bool asked = false;          // the row that the exit code is about
  std::vector<int> excused{};  // errors that say nothing about the sandbox
  bool through = false;        // let through: what the kernel says then is its own business
  int expected = 0;            // the very errno that a refusal must have; 0: any
  [[nodiscard]] bool disagrees() const;
};

struct WhyAnswer {
  std::string object;
  std::vector<std::string> rules;  // what decides, a sentence each
  std::vector<WhyRow> rows;
  std::vector<std::string> change;   // options; empty: there is none
  std::vector<std::string> permits;  // what else they would permit, or why there is none
  std::vector<std::string> notes;
  bool contradicts = false;  // the plan's own parts disagree
};

struct PathQuestion {
  std::string path;      // absolute
  std::string_view use;  // "readable", "writable", "executable", "creatable"
};

[[nodiscard]] Result<WhyAnswer> why_path(const PathQuestion& question, const WhyCase& about);
// "/run/x.sock", "tcp:127.0.0.1:80", "udp:127.0.0.1:53", "abstract:NAME"
[[nodiscard]] Result<WhyAnswer> why_socket(const std::string& object, const WhyCase& about);
[[nodiscard]] Result<WhyAnswer> why_call(const std::string& name, const WhyCase& about);

// The sentence about where a path lies, and by which rule.
[[nodiscard]] std::string rule_of(const sandbox::PathAnswer& answer, const WhyCase& about);
// Options that would show `path` or make it writable, with what else they permit.
void add_change(WhyAnswer& why, const sandbox::PathAnswer& answer, const std::string& path, bool writable,
                const WhyCase& about);

}  // namespace oncelatch::launcher
