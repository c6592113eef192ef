// Opens what a plan mounts and lists the whole view: the system by list, home, binds, workspace, other names,
// covers.
//
//   ViewBuilder builder(plan);
//   TRY(builder.build());
//   std::vector<ViewEntry> entries = TRY(builder.entries());
//
// Ownership: owns the descriptors until sources.take(); borrows the plan. Threads: one. Failure: Error naming the path.
// After fork: allocates.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/covers.h"
#include "sandbox/plan.h"
#include "sandbox/plan_checks.h"
#include "sandbox/sources.h"
#include "sandbox/view.h"

namespace oncelatch::sandbox {

class ViewBuilder {
 public:
  // `guards`: the plan's guard, where it can be had.
  ViewBuilder(const SandboxPlan& plan, bool guards)
      : plan_(plan), guards_(guards), account_(account_of(shown_uid(plan))) {}

  [[nodiscard]] Status build();
  [[nodiscard]] Result<std::vector<ViewEntry>> entries() { return view_.finish(); }
  // Real paths of everything that is shown from the host.
  [[nodiscard]] const std::vector<std::string>& visible() const { return visible_; }
  Sources sources;

 private:
  Status add_home();
  Status add_bind(const Bind& bind);
  Status add_workspace();
  Status add_overlay(const Source& workspace);
  Status add_covers();
  Status add_alias(const Alias& alias);

  const SandboxPlan& plan_;
  bool guards_;
  Account account_;
  View view_;
  std::vector<std::string> visible_;
  Mounts mounts_;
};

}  // namespace oncelatch::sandbox
