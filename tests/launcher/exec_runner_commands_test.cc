// What a CI runner would obey is marked however the command's output reaches the runner's log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> in_ci(const std::string& script) {
  return {"exec", "--profile", "ci", "--", "sh", "-c", script};
}

constexpr const char* kHalves = "printf :; sleep 0.2; printf ':set-env name=PATH::/x\\n' >&2; echo out; echo err >&2";

TEST(ExecRunnerCommands, HalvesOnBothStreamsMeetInOneFilter) {
  Scratch scratch;
  Output joined = scratch.oncelatch_behind({"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"}, in_ci(kHalves));
  EXPECT_EQ(joined.status.shell_code(), 0) << joined.err;
  EXPECT_EQ(joined.out, "::set-env name=PATH:|oncelatch|:/x\nout\nerr\n");
  Output apart = scratch.oncelatch(in_ci("echo out; echo err >&2"));
  EXPECT_EQ(apart.out, "out\n");
  EXPECT_EQ(apart.err, "err\n");
}

// The repository chooses names, and we tell of them.
TEST(ExecRunnerCommands, OurOwnLinesAreMarked) {
  Scratch scratch;
  scratch.write("repository/.git/elsewhere/f", "x");
  ASSERT_EQ(::symlink("elsewhere", scratch.path("repository/.git/##vso[task.setvariable variable=PATH]evil").c_str()),
            0);
  ASSERT_EQ(::symlink("##vso[task.setvariable variable=PATH]evil", scratch.path("repository/.git/hooks").c_str()), 0);
  for (const char* profile : {"ci", "workstation"}) {
    Output output = scratch.oncelatch({"exec", "--profile", profile, "--", "true"});
    EXPECT_EQ(output.status.shell_code(), 0) << output.err;
    EXPECT_THAT(output.err,
                ::testing::AllOf(HasSubstr("vso"), HasSubstr("|oncelatch|"), ::testing::Not(HasSubstr("##vso["))));
  }
  Output refused = scratch.oncelatch({"exec", "--read", "/nowhere/##vso[task.x]y", "--", "true"});
  EXPECT_EQ(refused.status.shell_code(), 122);
  EXPECT_THAT(refused.err, ::testing::AllOf(HasSubstr("|oncelatch|"), ::testing::Not(HasSubstr("##vso["))));
  Output page = scratch.oncelatch({"exec", "--explain", "--", "true"});
  EXPECT_THAT(page.out, ::testing::AllOf(HasSubstr("|oncelatch|"), ::testing::Not(HasSubstr("##vso["))));
}

TEST(ExecRunnerCommands, ATerminalOfTheRunnersIsALogToo) {
  Scratch scratch;
  const std::string command = "stty -opost; printf '\\n::set-env name=PATH::/x\\n'; tty -s && echo terminal";
  // A terminal made by script(1), its own output a pipe again. What script types at its end may be echoed first.
  const std::vector<std::string> front = {"/bin/sh", "-c",
                                          "exec script -qec \"$0 exec $PROFILE -- sh ./run\" /dev/null"};
  scratch.write("repository/run", command + "\n", 0755);
  for (const std::string profile : {"--profile ci", "--profile workstation"}) {
    std::vector<std::string> words = front;
    words[2] = "PROFILE='" + profile + "'; " + words[2];
    Output output = scratch.oncelatch_behind(words, {});
    EXPECT_THAT(output.out, HasSubstr("terminal")) << output.err;
    const bool marked = output.out.find("::set-env name=PATH:|oncelatch|:/x") != std::string::npos;
    EXPECT_EQ(marked, profile == "--profile ci") << output.out;
  }
}

// The command is ended in time; what we say about it waits for the terminal, and for no signal.
TEST(ExecRunnerCommands, ATerminalThatNobodyReadsKeepsNobodyAlive) {
  Scratch scratch;
  const std::string repository = scratch.path("repository");
  int tty = -1;
  const pid_t child = ::forkpty(&tty, nullptr, nullptr, nullptr);
  if (child == 0) {
    if (::chdir(repository.c_str()) != 0) ::_exit(126);
    ::execl(program("oncelatch").c_str(), "oncelatch", "exec", "--time", "1", "--", "yes", repository.c_str(), nullptr);
    ::_exit(127);
  }
  const Fd terminal(tty);
  ASSERT_TRUE(eventually([&] { return process_tree(child).size() >= 4; }));
  // Left are we and the one that puts the terminal's mode back.
  EXPECT_TRUE(eventually([&] { return process_tree(child).size() <= 2; }, std::chrono::seconds(8)));
  ::kill(child, SIGTERM);
  int status = 0;
  EXPECT_TRUE(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  if (is_running(child)) ::kill(child, SIGKILL);
}

}  // namespace
}  // namespace oncelatch::test
