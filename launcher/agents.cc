#include "launcher/agents.h"

namespace oncelatch::launcher {
namespace {

const std::vector<AgentProfile>& profiles() {
  static const std::vector<AgentProfile> table = {
      {
          .name = "kiro",
          .program = "kiro-cli",
          .arguments = {"chat", "--tui"},
          .recorder_variable = "KIRO_ACP_RECORD_PATH",
          .home_variable = "KIRO_HOME",
          .home_directory = ".kiro",
          .home_skeleton = {".kiro", ".kiro/agents", ".kiro/settings"},
          // They change the glyphs, the engine or the whole program: the screen contract would not hold.
          .dropped_variables = {"KIRO_ASCII_MODE", "KIRO_AGENT_ENGINE", "KIRO_TEST_MODE", "KIRO_MOCK_CHAT_RESPONSE",
                                "KIRO_KAS_SERVER_PATH", "KIRO_KAS_NODE_PATH", "KIRO_SKIP_BINARY_PINNING"},
          .hidden = {".kiro/agents", ".kiro/hooks", ".kiro/settings", ".amazonq"},
          .refused_flags = {"-a", "--trust-all-tools", "--trust-tools", "--no-interactive", "--classic", "--legacy-ui"},
      },
  };
  return table;
}

bool is_flag(const std::string& argument, std::string_view flag) {
  if (argument == flag) return true;
  if (flag.size() > 2) return argument.rfind(std::string(flag) + "=", 0) == 0;
  // A short flag also counts inside a bundle of short flags: -va.
  return argument.size() > 2 && argument[0] == '-' && argument[1] != '-' &&
         argument.find(flag[1], 1) != std::string::npos;
}

}  // namespace

const AgentProfile* find_agent(std::string_view name) {
  for (const AgentProfile& profile : profiles()) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

std::vector<std::string_view> agent_names() {
  std::vector<std::string_view> names;
  for (const AgentProfile& profile : profiles()) names.push_back(profile.name);
  return names;
}

std::string refused_argument(const AgentProfile& agent, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    for (std::string_view flag : agent.refused_flags) {
      if (is_flag(argument, flag)) return argument;
    }
  }
  return {};
}

}  // namespace oncelatch::launcher
