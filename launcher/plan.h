// LaunchConfig -> LaunchPlan: everything that will be mounted, passed and started, as one value, before anything
// happens.
//
//   LaunchPlan plan = make_plan(config, session_path, artifact_path);
//
// Ownership: a value. Threads: any. Failure: none; pure (no file is opened). After fork: allocates.
#pragma once

#include <string>

#include "launcher/config.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {

// Places inside the sandbox.
inline constexpr const char* kHomeInside = "/home/agent";
inline constexpr const char* kProgramsInside = "/opt/oncelatch/agent";
inline constexpr const char* kRecorderInside = "/run/oncelatch/record.jsonl";

struct LaunchPlan {
  sandbox::SandboxPlan sandbox;
  std::string recorder;  // host path of the recorder file
  std::string home;      // host path of the private home
};

[[nodiscard]] LaunchPlan make_plan(const LaunchConfig& config, const std::string& session_path,
                                   const std::string& artifact_path);

}  // namespace oncelatch::launcher
