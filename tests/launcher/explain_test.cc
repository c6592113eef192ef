// `exec --explain`: every part is there, with the rule behind it, nothing is started, nothing runs over 80 columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "base/untrusted.h"
#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Explain : public ::testing::TestWithParam<uid_t> {
 protected:
  std::string explain(std::vector<std::string> options) {
    options.insert(options.begin(), "exec");
    options.insert(options.end(), {"--explain", "--", "touch", "made"});
    Output output = scratch.oncelatch(options);
    EXPECT_EQ(output.status.shell_code(), 0) << output.err;
    EXPECT_FALSE(scratch.exists("repository/made"));
    return output.out;
  }
  Scratch scratch{GetParam()};
};

// The right column of the row whose left one is `left`, which may stand on a line of its own.
std::string row(const std::string& text, const std::string& left) {
  std::size_t at = text.find("\n  " + left);
  if (at == std::string::npos) return {};
  std::string rest = text.substr(at + 3 + left.size());
  std::size_t start = rest.find_first_not_of(" \n");
  return rest.substr(start, rest.find('\n', start) - start);
}

TEST_P(Explain, NamesTheRuleOfEverything) {
  scratch.write("repository/.git/config", "", 0644);
  scratch.write("repository/secret/key", "", 0644);
  scratch.write("given/x", "", 0644);
  scratch.write("taken/x", "", 0644);
  scratch.write("home/.cargo/bin/rustc", "", 0755);
  scratch.write("lab.yaml", "read: [" + scratch.path("given") + "]\nenv: {FROM_FILE: x}\n");
  std::string text = explain({"--profile",     scratch.path("lab.yaml"),
                              "--write",       scratch.path("taken"),
                              "--deny",        "secret",
                              "--env",         "MINE=1",
                              "--pass-env",    "USE*",
                              "--limit",       "processes=77",
                              "--time",        "9",
                              "--require",     "network:2",
                              "--accept-loss", "explain",
                              "--toolchains",  "rust"});
  EXPECT_THAT(row(text, scratch.path("repository")), HasSubstr("workspace"));
  EXPECT_EQ(row(text, scratch.path("given")), "--read, from lab.yaml");
  EXPECT_EQ(row(text, scratch.path("taken")), "--write");
  EXPECT_EQ(row(text, scratch.path("home/.cargo/bin")), "toolchain rust");
  EXPECT_EQ(row(text, scratch.path("repository/secret")), "--deny");
  EXPECT_THAT(row(text, scratch.path("repository/.git/config")), HasSubstr("git outside"));
  EXPECT_EQ(row(text, "FROM_FILE"), "--env, from lab.yaml");
  EXPECT_EQ(row(text, "MINE"), "--env");
  EXPECT_EQ(row(text, "CARGO_HOME"), "toolchain rust");
  EXPECT_EQ(row(text, "USER"), "--pass-env USE*");
  EXPECT_EQ(row(text, "HOME"), "set by oncelatch");
  EXPECT_THAT(row(text, "not passed"), HasSubstr("XDG_RUNTIME_DIR"));
  EXPECT_EQ(row(text, "processes"), "77, --limit processes");
  EXPECT_EQ(row(text, "time"), "9 s, --time");
  EXPECT_THAT(row(text, "none"), HasSubstr("empty network namespace"));
  EXPECT_THAT(row(text, "other-processes"), HasSubstr("registers"));
  EXPECT_THAT(row(text, "write_scope"), HasSubstr("mount namespace, landlock"));
  EXPECT_THAT(row(text, "network   "), HasSubstr("needs 2"));
}

TEST_P(Explain, TellsWhatIsNotHeld) {
  Output output = scratch.oncelatch({"exec", "--require", "domain_allowlist", "--explain", "--", "true"});
  EXPECT_EQ(output.status.shell_code(), 121);
  EXPECT_THAT(row(output.out, "domain_allowlist"), HasSubstr("MISSING"));
  EXPECT_THAT(output.err, HasSubstr("--accept-loss domain_allowlist"));
  output = scratch.oncelatch(
      {"exec", "--require", "domain_allowlist", "--accept-loss", "domain_allowlist", "--explain", "--", "true"});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(row(output.out, "domain_allowlist"), HasSubstr("LOST, by --accept-loss"));
}

// The same words, and nothing is started.
TEST_P(Explain, RequirementsHoldForExecItself) {
  EXPECT_EQ(scratch.oncelatch({"exec", "--require", "network:2", "--", "touch", "made"}).status.shell_code(), 0);
  EXPECT_TRUE(scratch.exists("repository/made"));
  Output output = scratch.oncelatch({"exec", "--require", "network:3", "--", "touch", "more"});
  EXPECT_EQ(output.status.shell_code(), 121);
  EXPECT_FALSE(scratch.exists("repository/more"));
  EXPECT_EQ(scratch.oncelatch({"exec", "--require", "netwrk", "--", "true"}).status.shell_code(), 122);
}

TEST_P(Explain, FollowsTheNetwork) {
  EXPECT_THAT(explain({"--net", "loopback"}), HasSubstr("its own loopback"));
  EXPECT_THAT(explain({"--net", "ports:443"}), AllOf(HasSubstr("TCP 443"), Not(HasSubstr("  none  "))));
}

TEST_P(Explain, FitsATerminal) {
  scratch.write("lab.yaml", "extends: strict\n");
  std::istringstream lines(explain({"--profile", scratch.path("lab.yaml")}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80U) << line;
}

TEST_P(Explain, RefusesAsExecDoes) {
  Output output = scratch.oncelatch({"exec", "--read", "/nowhere", "--explain", "--", "true"});
  EXPECT_EQ(output.status.shell_code(), 122);
  EXPECT_THAT(output.err, HasSubstr("--read /nowhere"));
  EXPECT_EQ(output.out, "");
}

INSTANTIATE_TEST_SUITE_P(Users, Explain, ::testing::ValuesIn(users()));

}  // namespace
}  // namespace oncelatch::test
