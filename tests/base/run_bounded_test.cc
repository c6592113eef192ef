#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <thread>

#include "base/process.h"
#include "tests/base/temporary.h"

namespace oncelatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Spawn shell(const std::string& script) {
  Spawn spawn;
  spawn.path = "/bin/sh";
  spawn.argv = {"sh", "-c", script};
  spawn.environment = {"PATH=/usr/bin:/bin"};
  return spawn;
}

TEST(RunBounded, CollectsBothOutputs) {
  Result<Output> output = run_bounded(shell("echo out; echo err >&2; exit 3"), 100, seconds(20));
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->err, "err\n");
  EXPECT_EQ(output->status.shell_code(), 3);
}

TEST(RunBounded, LargeOutputDoesNotBlock) {
  Result<Output> output =
      run_bounded(shell("head -c 500000 /dev/zero; head -c 500000 /dev/zero >&2"), 500'000, seconds(20));
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out.size(), 500'000U);
  EXPECT_EQ(output->err.size(), 500'000U);
}

TEST(RunBounded, TooMuchOutputEndsIt) {
  Result<Output> output = run_bounded(shell("exec yes"), 10'000, seconds(20));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().errno_value, EFBIG);
  EXPECT_FALSE(run_bounded(shell("printf 12345"), 4, seconds(20)));
  EXPECT_TRUE(run_bounded(shell("printf 12345"), 5, seconds(20)));
}

TEST(RunBounded, TimeLimitEndsItAndItsChildren) {
  TemporaryDirectory temporary;
  auto before = std::chrono::steady_clock::now();
  Spawn spawn = shell("sleep 60 & echo $! >pid; wait");
  spawn.directory = temporary.path();
  Result<Output> output = run_bounded(spawn, 100, milliseconds(300));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().errno_value, ETIMEDOUT);
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(10));
  Result<std::string> pid = read_file(temporary.fd(), "pid", 100);
  ASSERT_TRUE(pid);
  for (int tries = 0; tries < 500 && ::kill(std::stoi(*pid), 0) == 0; ++tries) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  Result<Output> state = run_bounded(shell("ps -o stat= -p " + *pid), 100, seconds(20));
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->out.empty() || state->out[0] == 'Z') << state->out;
}

TEST(RunBounded, DoesNotWaitForAGrandchildThatKeepsTheOutput) {
  auto before = std::chrono::steady_clock::now();
  Result<Output> output = run_bounded(shell("echo done; sleep 5 &"), 100, seconds(20));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(4));
}

TEST(RunBounded, ProgramThatCannotStart) {
  Spawn spawn = shell("exit 0");
  spawn.path = "/nonexistent";
  EXPECT_EQ(run_bounded(spawn, 100, seconds(5)).error().errno_value, ENOENT);
}

}  // namespace
}  // namespace oncelatch
