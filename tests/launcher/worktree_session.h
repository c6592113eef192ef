// A repository, sessions in worktrees of it whose agent is a script, and what `oncelatch worktree` makes of them.
//
//   class WorktreeAttack : public WorktreeSession {};
//   EXPECT_EQ(session("fix", "echo b > b").status.shell_code(), 0);
//   expect_refused({"apply", "fix"}, "aren't committed");
//
// Ownership: a scratch directory per test. Threads: one. Failure: a gtest assertion. After fork: not used.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {

class WorktreeSession : public ::testing::TestWithParam<uid_t> {
 protected:
  void SetUp() override {
    EXPECT_EQ(host("git init -q -b main . && git config user.name t && git config user.email t@e && "
                   "mkdir .vscode src && echo '{}' > .vscode/settings.json && echo a > a && echo s > src/s && "
                   "git add -A && git commit -qm first"),
              "");
  }
  [[nodiscard]] std::string host(const std::string& script) const { return scratch.on_host(script); }
  // A session whose agent is this script.
  [[nodiscard]] Output session(const std::string& name, const std::string& script,
                               std::vector<std::string> more = {}) const {
    scratch.write("agent.sh", "#!/bin/sh\n" + script + "\n", 0755);
    std::vector<std::string> arguments = {"run", "kiro", "--worktree=" + name, "--cli-path", scratch.path("agent.sh")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return scratch.oncelatch(arguments);
  }
  [[nodiscard]] Output worktree(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "worktree");
    return scratch.oncelatch(arguments);
  }
  [[nodiscard]] Json list() const {
    const Output output = worktree({"list", "--json"});
    EXPECT_EQ(output.status.shell_code(), 0) << output.err;
    return Json::parse(output.out);
  }
  [[nodiscard]] std::string place() const { return list().at(0).at("path").get<std::string>(); }
  [[nodiscard]] std::string head() const { return host("git rev-parse HEAD"); }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& why) const {
    const Output output = worktree(arguments);
    EXPECT_EQ(output.status.shell_code(), 122) << output.err;
    EXPECT_THAT(output.err, ::testing::AllOf(::testing::HasSubstr(why), ::testing::HasSubstr("try:")));
  }
  Scratch scratch{GetParam()};
};

}  // namespace oncelatch::test
