// What a plan must satisfy before anything is opened, and the account it runs under.
//
//   TRY(check_plan(plan));
//   TRY(check_workspace(plan, opened, homes));
//
// Ownership: none. Threads: any. Failure: Error naming the field or path. After fork: allocates.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/plan.h"
#include "sandbox/plan_wire.h"
#include "sandbox/sources.h"

namespace oncelatch::sandbox {

// Strings, paths and numbers; nothing of the file system is looked at.
[[nodiscard]] Status check_plan(const SandboxPlan& plan);
[[nodiscard]] bool clean(const std::string& path);

// What may be done below a bind.
[[nodiscard]] Rights rights_of(const Bind& bind);

// What was planned and what was opened are one: else somebody put a link in the way meanwhile.
[[nodiscard]] Status check_still_there(const Bind& bind, const Source& opened);

struct Account {
  std::string name = "agent";
  std::string home;
};
[[nodiscard]] Account account_of(uid_t uid);

// Where the system and the kernel keep their own: never a workspace, never shown writable. Not of it: /usr/src,
// /usr/local/src and /run/media, where people's work lies, and /var, but for what everything there lies in.
[[nodiscard]] bool is_system_place(const std::string& real_path);

// The workspace becomes writable as a whole, so it must be a project and not what a home or the system lies in.
[[nodiscard]] Status check_workspace(const SandboxPlan& plan, const Source& workspace,
                                     const std::vector<std::string>& homes);

}  // namespace oncelatch::sandbox
