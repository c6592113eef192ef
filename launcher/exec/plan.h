// From options to the sandbox that `oncelatch exec` makes: a value, before anything is opened or started.
//
//   ExecPlan plan = TRY(make_exec_plan(options, caller_environment()));
//   VerifiedArtifact program = TRY(verify::open_program(plan.program));
//
// Ownership: values. Threads: any. Failure: Error of stage "command line", "profile", "workspace" (exit 122) or
// "command" (126, 127). After fork: allocates. Part of the light program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launcher/exec/environment.h"
#include "launcher/exec/options.h"
#include "launcher/exec/profile.h"
#include "launcher/exec/repository.h"
#include "launcher/exec/workspace.h"
#include "sandbox/identity.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {

struct ExecPlan {
  ExecProfile profile;
  Workspace workspace;
  Repository repository;
  sandbox::SandboxPlan sandbox;
  std::string program;        // host path of the command's file
  std::string own_directory;  // of oncelatch itself, where something writable holds it
  CommandEnvironment environment;
  std::vector<std::pair<std::string, std::string>> certificates;  // shown for a variable: real path, its name
  std::vector<std::string> toolchains;                            // names of those that are shown
  std::uint64_t seconds = 0;                                      // 0: no limit
  std::vector<std::string> notes;                                 // for stderr and the report
  std::vector<std::string> losses;                                // guarantees that were given up
};

// Told once what sandbox::begin_entering() needs is known; what it fails with, the whole fails with.
using BeginLaunch = std::function<Status(const ExecPlan& known)>;

[[nodiscard]] Result<ExecPlan> make_exec_plan(const ExecOptions& options, const std::vector<std::string>& environment,
                                              sandbox::IdentityChoice choice = sandbox::IdentityChoice::proven,
                                              const BeginLaunch& begin = nullptr);

}  // namespace oncelatch::launcher
