// The view of a plan in the Landlock tier: no root of its own, so what the plan shows is allowed where it lies on the
// host, and nothing is hidden. What names a path inside (working directory, program, variables) is led to the host's.
//
//   HostView view(plan);
//   TRY(view.build());
//   std::vector<ViewEntry> entries = TRY(view.entries());
//   SandboxPlan at_host = view.plan();
//
// Covers are left out: Landlock only adds (guarantee deny_inside is not given). Ownership: owns the descriptors until
// sources.take(); borrows the plan. Threads: one. Failure: Error naming the path. After fork: allocates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/plan.h"
#include "sandbox/plan_checks.h"
#include "sandbox/plan_writer.h"
#include "sandbox/sources.h"
#include "sandbox/view.h"

namespace oncelatch::sandbox {

class HostView {
 public:
  explicit HostView(const SandboxPlan& plan) : plan_(plan), account_(account_of(plan.uid)) {}

  [[nodiscard]] Status build();
  [[nodiscard]] Result<std::vector<ViewEntry>> entries() const;
  [[nodiscard]] const std::vector<std::string>& visible() const { return visible_; }
  // The plan with host paths.
  [[nodiscard]] SandboxPlan plan() const;
  // Numbers of this tier.
  void adjust(PlanFields& fields) const;
  Sources sources;

 private:
  void add_system();
  Status add_home();
  Status add_bind(const Bind& bind);
  Status add_workspace();
  void allow(std::int32_t source, const std::string& path, bool directory, Rights rights);
  [[nodiscard]] std::string at_host(const std::string& inside) const;

  const SandboxPlan& plan_;
  Account account_;
  std::vector<ViewEntry> entries_;
  std::vector<std::string> visible_;
  std::map<std::string, std::string> moved_;  // target inside -> real path
};

}  // namespace oncelatch::sandbox
