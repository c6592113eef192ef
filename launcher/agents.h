// What belongs to one agent and to no other, as data: its program's name, arguments, environment, what is hidden of the
// repository, and which of its flags are refused.
//
//   const AgentProfile* kiro = find_agent("kiro");
//
// Ownership: static data. Threads: any. Failure: nullptr for an unknown name. Source: contracts/kiro-tui.md 1,
// contracts/bridge-and-env.md 1, DESIGN section 5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::launcher {

struct AgentProfile {
  std::string_view name;
  std::string_view program;                         // looked up in PATH when no file is named
  std::vector<std::string_view> arguments;          // before the user's own
  std::string_view recorder_variable;               // environment variable with the recorder's path; always ours
  std::string_view home_variable;                   // relocates the agent's own state; always ours
  std::string_view home_directory;                  // its value, relative to HOME
  std::vector<std::string_view> home_skeleton;      // directories made empty under HOME
  std::vector<std::string_view> dropped_variables;  // never passed, whatever the allowlist says
  std::vector<std::string_view> hidden;             // of the workspace: executable configuration of the agent
  std::vector<std::string_view> refused_flags;      // exact, or with "=value"; they switch prompts off or change them
};

[[nodiscard]] const AgentProfile* find_agent(std::string_view name);
[[nodiscard]] std::vector<std::string_view> agent_names();

// First argument that the profile refuses, or empty.
[[nodiscard]] std::string refused_argument(const AgentProfile& agent, const std::vector<std::string>& arguments);

}  // namespace oncelatch::launcher
