#include "launcher/agents.h"

#include <gtest/gtest.h>

namespace oncelatch::launcher {
namespace {

TEST(Agents, KiroIsKnownAndAnotherIsNot) {
  EXPECT_NE(find_agent("kiro"), nullptr);
  EXPECT_EQ(find_agent("Kiro"), nullptr);
  EXPECT_EQ(find_agent(""), nullptr);
}

TEST(Agents, FlagsThatSwitchPromptsOffAreRefusedInEverySpelling) {
  const AgentProfile& kiro = *find_agent("kiro");
  for (const char* flag : {"--trust-all-tools", "-a", "--trust-tools", "--trust-tools=shell",
                           "--trust-tools=", "--classic", "--legacy-ui", "--no-interactive", "-va"}) {
    EXPECT_EQ(refused_argument(kiro, {"hello", flag}), flag);
  }
}

TEST(Agents, OrdinaryArgumentsPass) {
  const AgentProfile& kiro = *find_agent("kiro");
  EXPECT_EQ(refused_argument(kiro, {"--model", "auto", "--effort", "high", "--resume-id", "kiro-session-123",
                                    "fix -all of it", "-v", "-"}),
            "");
}

}  // namespace
}  // namespace oncelatch::launcher
