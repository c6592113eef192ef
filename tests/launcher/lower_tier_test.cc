// Sessions on a machine without user namespaces (an outer filter refuses them): refused until each loss is accepted by
// name; then the agent works, and what the tier still promises holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

class LowerTier : public ::testing::TestWithParam<uid_t> {};

TEST_P(LowerTier, EveryLossMustBeAccepted) {
  Scratch scratch(GetParam());
  Output refused = scratch.oncelatch_behind(kWithoutNamespaces, scratch.run_arguments({"--unattended"}));
  EXPECT_EQ(refused.status.shell_code(), 121) << refused.err;
  for (const char* name : {"deny_inside", "creation_guard", "write_scope", "read_scope", "processes"})
    EXPECT_NE(refused.err.find("--accept-loss " + std::string(name) + " gives up: "), std::string::npos) << refused.err;
  Output one = scratch.oncelatch_behind(
      kWithoutNamespaces,
      scratch.run_arguments({"--unattended", "--accept-loss", "deny_inside", "--accept-loss", "read_scope"}));
  EXPECT_EQ(one.status.shell_code(), 121) << one.err;
  EXPECT_EQ(one.err.find("--accept-loss deny_inside gives up"), std::string::npos) << "was accepted: " << one.err;
  Output wrong = scratch.oncelatch_behind(kWithoutNamespaces, scratch.run_arguments({"--accept-loss", "deny_insid"}));
  EXPECT_EQ(wrong.status.shell_code(), 122) << wrong.err;
  EXPECT_NE(wrong.err.find("deny_inside"), std::string::npos) << wrong.err;
  EXPECT_TRUE(scratch.session_directories().empty());
}

TEST_P(LowerTier, TheAgentWorksAndWhatIsPromisedHolds) {
  if (GetParam() == 0) return;  // kernel user 0 has no write scope here: not given, and refused without its acceptance
  Scratch scratch(GetParam());
  scratch.write("secret", "planted\n");
  scratch.write(
      "policy.yaml",
      "version: 1\nrules:\n  - {id: all, capability: shell, match: [\"sh t.sh\"], effect: allow, reason: r}\n");
  scratch.write("repository/t.sh", "cat " + scratch.path("secret") + " > stolen; echo x > " +
                                       scratch.path("home/written") +
                                       "; echo y > \"$TMPDIR/mine\" && echo works > worked\n");
  scratch.scenario({{"steps", {{{"type", "prompt"}, {"command", "sh t.sh"}}}}});
  std::vector<std::string> more = kLowerTierLosses;
  more.emplace_back("--unattended");
  Output run = scratch.oncelatch_behind(kWithoutNamespaces, scratch.run_arguments(more));
  EXPECT_EQ(run.status.shell_code(), 0) << run.err;
  EXPECT_EQ(scratch.read("repository/stolen"), "");
  EXPECT_FALSE(scratch.exists("home/written"));
  EXPECT_EQ(scratch.read("repository/worked"), "works\n") << run.err;
  Json report = scratch.report();
  EXPECT_EQ(report.at("sandbox").at("tier"), "landlock");
  EXPECT_THAT(
      report.at("accepted_losses").get<std::vector<std::string>>(),
      ::testing::UnorderedElementsAre("deny_inside", "creation_guard", "write_scope", "read_scope", "processes"));
  EXPECT_TRUE(scratch.session_directories().empty());
}

std::vector<std::string> exec_with(const std::vector<std::string>& options, const std::vector<std::string>& command) {
  std::vector<std::string> all = {"exec"};
  all.insert(all.end(), kLowerTierLosses.begin(), kLowerTierLosses.end());
  all.insert(all.end(), options.begin(), options.end());
  all.emplace_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

// What nothing counts there isn't promised.
TEST_P(LowerTier, AMemoryLimitThatWasNamedIsRefused) {
  Scratch scratch(GetParam());
  Output refused = scratch.oncelatch_behind(kWithoutNamespaces, exec_with({"--limit", "memory=256M"}, {"echo", "RAN"}));
  if (refused.status.shell_code() == 0) return;  // a control group counts
  EXPECT_EQ(refused.status.shell_code(), 121) << refused.err;
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("memory limit"), std::string::npos) << refused.err;
  EXPECT_EQ(scratch.oncelatch_behind(kWithoutNamespaces, exec_with({}, {"echo", "RAN"})).out, "RAN\n");
}

// --explain says what is so: where HOME is, and that nothing is hidden.
TEST_P(LowerTier, ExplainTellsOfThisTier) {
  Scratch scratch(GetParam());
  scratch.write("repository/secret", "x", 0644);
  Output page = scratch.oncelatch_behind(kWithoutNamespaces, exec_with({"--explain", "--deny", "secret"}, {"true"}));
  EXPECT_EQ(page.status.shell_code(), 0) << page.err;
  for (const char* text : {"$HOME, $TMPDIR", "/tmp itself", "isn't writable", "this machine's, with all processes",
                           "asked to be hidden or protected, and isn't", "repository/secret"})
    EXPECT_NE(page.out.find(text), std::string::npos) << text << page.out;
  EXPECT_EQ(page.out.find("users and hosts are made up"), std::string::npos) << page.out;
}

INSTANTIATE_TEST_SUITE_P(Users, LowerTier, ::testing::ValuesIn(users()), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace oncelatch::test
