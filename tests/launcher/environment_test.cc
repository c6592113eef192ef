#include "launcher/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oncelatch::launcher {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::vector<std::string> inside(const std::vector<std::string>& caller) {
  return agent_environment(caller, *find_agent("kiro"),
                           {"/home/agent", "/run/oncelatch/record.jsonl", "/opt/oncelatch/agent", "/w"});
}

std::vector<std::string> names(const std::vector<std::string>& environment) {
  std::vector<std::string> all;
  for (const std::string& entry : environment) all.push_back(entry.substr(0, entry.find('=')));
  return all;
}

TEST(Environment, FromNothingOnlyWhatTheLauncherSets) {
  EXPECT_THAT(names(inside({})),
              ::testing::UnorderedElementsAre("LANG", "LC_ALL", "HOME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR",
                                              "KIRO_ACP_RECORD_PATH", "KIRO_HOME"));
}

TEST(Environment, NothingUnlistedPasses) {
  std::vector<std::string> hostile = {"LD_PRELOAD=/x.so",
                                      "NODE_OPTIONS=--require x",
                                      "GIT_SSH_COMMAND=x",
                                      "BASH_ENV=/x",
                                      "SSH_AUTH_SOCK=/s",
                                      "DBUS_SESSION_BUS_ADDRESS=x",
                                      "TMUX=/tmp/tmux-0/default,1,0",
                                      "TMUX_PANE=%1",
                                      "DISPLAY=:0",
                                      "XDG_RUNTIME_DIR=/run/user/0",
                                      "KIRO_ASCII_MODE=1",
                                      "KIRO_AGENT_ENGINE=v1",
                                      "KIRO_TEST_MODE=1",
                                      "KIRO_MOCK_CHAT_RESPONSE=x",
                                      "AWS_CONFIG_FILE=/root/.aws/config",
                                      "AWS_SHARED_CREDENTIALS_FILE=/root/.aws/credentials",
                                      "CI=1",
                                      "BASH_FUNC_ls%%=() { x; }"};
  EXPECT_EQ(names(inside(hostile)), names(inside({})));
}

TEST(Environment, OursWinOverTheCallers) {
  std::vector<std::string> result = inside(
      {"HOME=/root", "PATH=/evil", "KIRO_ACP_RECORD_PATH=/evil", "KIRO_HOME=/root/.kiro", "TERM=x", "SHELL=/evil"});
  EXPECT_THAT(result, Contains("HOME=/home/agent"));
  EXPECT_THAT(result, Contains("KIRO_ACP_RECORD_PATH=/run/oncelatch/record.jsonl"));
  EXPECT_THAT(result, Contains("KIRO_HOME=/home/agent/.kiro"));
  EXPECT_THAT(result, Contains("PATH=/opt/oncelatch/agent:/usr/local/bin:/usr/bin:/bin"));
  for (const std::string& entry : result) EXPECT_EQ(entry.find("evil"), std::string::npos) << entry;
}

TEST(Environment, CredentialsReachTheAgentAndEmptyValuesDont) {
  std::vector<std::string> result = inside({"KIRO_API_KEY=k", "AWS_ACCESS_KEY_ID=", "AWS_SESSION_TOKEN=t",
                                            "KIRO_REFRESH_TOKEN=r", "GITHUB_TOKEN=g", "AWS_REGION=eu"});
  EXPECT_THAT(result, Contains("KIRO_API_KEY=k"));
  EXPECT_THAT(result, Contains("AWS_SESSION_TOKEN=t"));
  EXPECT_THAT(result, Contains("KIRO_REFRESH_TOKEN=r"));
  EXPECT_THAT(result, Contains("AWS_REGION=eu"));
  EXPECT_THAT(names(result), Not(Contains("AWS_ACCESS_KEY_ID")));
  EXPECT_THAT(names(result), Not(Contains("GITHUB_TOKEN")));
}

TEST(Environment, Utf8IsKeptOrSet) {
  EXPECT_THAT(inside({"LANG=de_DE.UTF-8"}), Contains("LANG=de_DE.UTF-8"));
  EXPECT_THAT(inside({"LC_ALL=en_US.utf8"}), Contains("LC_ALL=en_US.utf8"));
  EXPECT_THAT(inside({"LANG=C", "LC_ALL=POSIX"}), Contains("LC_ALL=C.UTF-8"));
  EXPECT_THAT(inside({"LANG=C", "LC_ALL=POSIX"}), Not(Contains("LC_ALL=POSIX")));
}

TEST(Environment, FirstOfDuplicatesAndOddEntries) {
  std::vector<std::string> result = inside({"USER=a", "USER=b", "=x", "NOVALUE", "USER"});
  EXPECT_THAT(result, Contains("USER=a"));
  EXPECT_THAT(result, Not(Contains("USER=b")));
  EXPECT_EQ(environment_value({"A=1", "A=2"}, "A"), "1");
  EXPECT_EQ(environment_value({"AB=1"}, "A"), "");
}

}  // namespace
}  // namespace oncelatch::launcher
