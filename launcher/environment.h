// The agent's environment, built from nothing: an allowlist, what the launcher sets, and the credentials, which go to
// the agent process only (by memory, never argv, tmux or a file).
//
//   std::vector<std::string> inside = agent_environment(caller, kiro, paths);
//
// Ownership: values. Threads: any. Failure: none; what isn't listed isn't passed, empty values are dropped. After fork:
// allocates. Source: contracts/bridge-and-env.md 1, contracts/redaction.md 1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/agents.h"

namespace oncelatch::launcher {

// The process's environment as NAME=value strings.
[[nodiscard]] std::vector<std::string> caller_environment();
// Value of a name, or empty. The first occurrence wins, as getenv(3).
[[nodiscard]] std::string environment_value(const std::vector<std::string>& environment, std::string_view name);

struct InsidePaths {
  std::string home;       // HOME inside
  std::string recorder;   // the recorder file inside
  std::string programs;   // directory of the verified program; PATH begins with it
  std::string workspace;  // PWD
};
[[nodiscard]] std::vector<std::string> agent_environment(const std::vector<std::string>& caller,
                                                         const AgentProfile& agent, const InsidePaths& inside);

}  // namespace oncelatch::launcher
