// Held names under `exec`, where nobody is asked: told after the run, or refused and told at once, as the profile says.
#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTries =
    "mkdir -p .github/workflows; for f in package.json .github/workflows/ci.yml Makefile notes; do "
    "(echo x > $f) 2>/dev/null && echo $f; done";

class HeldExec : public Exec {
 protected:
  [[nodiscard]] Json held() const { return scratch.report().at("held_names"); }
};

// E043, E045 under a strict profile: nothing of it is made, what builds write neither.
TEST_P(HeldExec, AStrictProfileRefuses) {
  const Output output = shell(kTries, {"--profile", "strict"});
  EXPECT_EQ(output.out, "notes\n");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr("workspace guard: package.json: making was refused: package managers run"),
                                HasSubstr("workspace guard: .github/workflows/ci.yml: making was refused: runs with"),
                                HasSubstr("workspace guard: Makefile: making was refused: make runs it"),
                                HasSubstr("try: --held report")));
  EXPECT_EQ(held().at("mode"), "refuse");
  EXPECT_EQ(held().at("refused"), 3);
  EXPECT_EQ(held().at("names").at(0), (Json{{"path", path("repository/package.json")}, {"use", "create"}}));
  for (const char* name : {"package.json", "Makefile", ".github/workflows/ci.yml"})
    EXPECT_FALSE(scratch.exists("repository/" + std::string(name))) << name;
}

TEST_P(HeldExec, TheOptionIsStrongerThanTheProfile) {
  const Output allowed = shell(kTries, {"--profile", "strict", "--held", "report"});
  EXPECT_EQ(allowed.out, "package.json\n.github/workflows/ci.yml\nMakefile\nnotes\n") << allowed.err;
  EXPECT_THAT(allowed.err, Not(HasSubstr("was refused")));
  EXPECT_EQ(held(), (Json{{"mode", "report"}}));
  const Output refused =
      shell("echo x > package.json; mv package.json away; echo x > Makefile && echo made", {"--held", "refuse"});
  EXPECT_EQ(refused.out, "made\n");
  EXPECT_THAT(refused.err, HasSubstr("workspace guard: package.json: writing was refused"));
  EXPECT_EQ(held().at("refused"), 2);
  EXPECT_EQ(scratch.read("repository/package.json"), "x\n");
}

TEST_P(HeldExec, OtherwiseTheyAreToldAfterTheRun) {
  const Output output = shell(kTries, {"--fail-on", "held"});
  EXPECT_EQ(output.out, "package.json\n.github/workflows/ci.yml\nMakefile\nnotes\n");
  EXPECT_EQ(output.status.shell_code(), 123) << output.err;
}

TEST_P(HeldExec, AProfileOfOnesOwnSaysIt) {
  scratch.write("own.yaml", "extends: ci\nheld: refuse\n", 0644);
  own("own.yaml");
  EXPECT_EQ(shell(kTries, {"--profile", path("own.yaml")}).out, "Makefile\nnotes\n");
}

TEST_P(HeldExec, NobodyCanBeAsked) {
  const Output output = shell("true", {"--held", "ask"});
  EXPECT_EQ(output.status.shell_code(), 122);
  EXPECT_THAT(output.err, HasSubstr("only oncelatch run asks"));
}

// Many attempts are counted, and the different names told up to a bound.
TEST_P(HeldExec, AFloodIsBounded) {
  const Output output = shell(
      "(: > \"$(printf 'a\\033[2J.pth')\") 2>/dev/null; i=0; "
      "while [ $i -lt 1500 ]; do (: > n$((i % 30)).pth) 2>/dev/null; i=$((i+1)); done; echo ended",
      {"--held", "refuse"});
  EXPECT_EQ(output.out, "ended\n");
  EXPECT_EQ(held().at("refused"), 1501);
  EXPECT_EQ(held().at("names").size(), 20);
  EXPECT_THAT(output.err,
              AllOf(HasSubstr("other names: refused as well"), HasSubstr("a\\x1b[2J.pth"), Not(HasSubstr("\033"))));
}

TEST_P(HeldExec, ExplainTellsWhatBecomesOfThem) {
  const Words command = {"true"};
  EXPECT_THAT(scratch.oncelatch(all({"--explain", "--profile", "strict"}, command)).out,
              AllOf(HasSubstr("refused                   and told at the end, by the profile"), HasSubstr("Makefile")));
  EXPECT_THAT(scratch.oncelatch(all({"--explain", "--held", "refuse"}, command)).out,
              AllOf(HasSubstr("and told at the end, --held"), Not(HasSubstr("Makefile"))));
  EXPECT_THAT(scratch.oncelatch(all({"--explain"}, command)).out, HasSubstr("told after the run"));
}

EXEC_USERS(HeldExec);

}  // namespace
}  // namespace oncelatch::test
