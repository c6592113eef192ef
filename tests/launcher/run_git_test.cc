// Whole sessions of `run` in a git repository: what is put right at their end, and what is told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RunGit : public ::testing::TestWithParam<uid_t> {
 protected:
  void SetUp() override {
    EXPECT_EQ(host("git init -q -b main . && git config user.name t && git config user.email t@e && echo a > a && "
                   "git add -A && git commit -qm first && git branch other && git worktree add -q -b fix ../fix 2>&1"),
              "");
  }
  [[nodiscard]] std::string host(const std::string& script) const { return scratch.on_host(script); }
  [[nodiscard]] std::vector<std::string> agent(const std::string& script, const std::string& place,
                                               const std::vector<std::string>& more) const {
    scratch.write("agent.sh", "#!/bin/sh\n" + script + "\n", 0755);
    std::vector<std::string> arguments = {"run",         "kiro", "--cli-path", scratch.path("agent.sh"),
                                          "--workspace", place,  "--report",   scratch.path("report.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  [[nodiscard]] Output session(const std::string& script, const std::vector<std::string>& more,
                               const std::string& place = "repository") const {
    return scratch.oncelatch(agent(script, scratch.path(place), more));
  }
  Scratch scratch{GetParam()};
};

TEST_P(RunGit, OnlyTheOwnBranchMoves) {
  const std::string others = host("git rev-parse other fix");
  Output output = session(
      "git commit -q --allow-empty -m inside; git branch new; git switch -q other; git update-ref "
      "refs/heads/other HEAD; git tag x; rm .git/HEAD; true",
      {"--git", "own-branch", "--fail-on", "refused"});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(
      host("git log -1 --format=%s main; git rev-parse other fix; git tag; git branch --format='%(refname:short)'"),
      "inside\n" + others + "fix\nmain\nother\n");
  for (const char* place : {"repository", "fix"}) {
    const std::string name = std::string(place) == "fix" ? "fix" : "main";
    const std::string tip = host("git rev-parse " + name);
    output = session("echo 'ref: refs/heads/other' > $(git rev-parse --git-common-dir)/refs/heads/" + name,
                     {"--git", "own-branch", "--fail-on", "refused"}, place);
    EXPECT_EQ(output.status.shell_code(), 123) << output.err;
    EXPECT_THAT(output.err, AllOf(HasSubstr("own branch: "), HasSubstr("put back to what it was before")));
    EXPECT_EQ(host("git rev-parse " + name + "; git symbolic-ref -q refs/heads/" + name), tip);
    EXPECT_THAT(scratch.read("report.json"), HasSubstr("ref: refs/heads/other"));
  }
}

TEST_P(RunGit, AWorktreeHasItsOwnBranch) {
  const Output output =
      scratch.oncelatch({"run", "kiro", "--worktree", "--git", "own-branch", "--cli-path", scratch.path("agent.sh")});
  EXPECT_EQ(output.status.shell_code(), 122);
  scratch.write("agent.sh", "#!/bin/sh\n", 0755);
  const Output again =
      scratch.oncelatch({"run", "kiro", "--worktree=x", "--git", "own-branch", "--cli-path", scratch.path("agent.sh")});
  EXPECT_THAT(again.err, AllOf(HasSubstr("a branch of its own"), HasSubstr("leave out one of the two")));
  EXPECT_EQ(host("git branch --list 'oncelatch/*'"), "");
}

// Where settings name hooks in each work tree, a new one would bring its own.
TEST_P(RunGit, NoWorktreeBringsItsOwnHooks) {
  const std::string add = "git worktree add -q --detach ";
  EXPECT_EQ(host("mkdir hooks && echo x > hooks/pre-commit && git add hooks && git commit -qm hooks"), "");
  (void)session(add + "one", {});
  EXPECT_EQ(host("git config core.hooksPath hooks"), "");
  (void)session(add + "two; touch came-here", {});
  EXPECT_EQ(host("ls"), "a\ncame-here\nhooks\none\n");
}

// The repository of a linked worktree lies outside, and is looked at, too.
TEST_P(RunGit, WhatIsLeftInARepositoryOutsideIsTold) {
  const Output output = session(
      "git commit -q --allow-empty -m one; git commit -q --allow-empty -m two; "
      "GIT_SEQUENCE_EDITOR='sed -i 1iexec\\ evil' git rebase -i -x false HEAD~1; git worktree add -q -b topic "
      ".trees/x; true",
      {}, "fix");
  EXPECT_THAT(output.err, AllOf(HasSubstr("git-rebase-todo"), HasSubstr("a linked worktree of this repository"),
                                Not(HasSubstr("refused"))))
      << scratch.read("report.json");
}

TEST_P(RunGit, WhereTheGuardsLossWasAcceptedItIsMovedAway) {
  std::vector<std::string> more(kLowerTierLosses.begin(), kLowerTierLosses.end());
  const std::string mark = "touch " + scratch.path("home/MARK");
  const Output output = scratch.oncelatch_behind(
      kWithoutNamespaces, agent("echo '" + mark +
                                    "' | tee .envrc .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; "
                                    "echo plain > plain",
                                scratch.path("repository"), more));
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("what was moved lies in " + scratch.path("state/oncelatch/quarantine/")));
  EXPECT_EQ(host("ls -A; ls .git/hooks | grep -v sample"), ".git\na\nplain\n");
  (void)host("git commit -q --allow-empty -m x");
  EXPECT_FALSE(scratch.exists("home/MARK"));
  EXPECT_THAT(scratch.read("report.json"), HasSubstr("\"quarantined\""));
}

INSTANTIATE_TEST_SUITE_P(Users, RunGit, ::testing::ValuesIn(users()),
                         [](const auto& one) { return one.param == 0 ? "Root" : "OrdinaryUser"; });

}  // namespace
}  // namespace oncelatch::test
