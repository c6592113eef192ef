#include "base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/beneath.h"
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

ExitStatus run(const Spawn& spawn) {
  Result<Process> child = start(spawn);
  EXPECT_TRUE(child) << child.error().message();
  if (!child) return {};
  Result<ExitStatus> status = child->wait(seconds(20));
  EXPECT_TRUE(status) << status.error().message();
  return status ? *status : ExitStatus{};
}

struct Ends {
  Fd read;
  Fd write;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string output_of(Spawn spawn) {
  Ends ends = make_pipe();
  spawn.keep[1] = ends.write.get();
  Result<Process> child = start(spawn);
  EXPECT_TRUE(child) << child.error().message();
  ends.write.reset();
  Result<std::string> text = read_whole(ends.read.get(), "output", 100'000);
  return text ? *text : "";
}

TEST(Process, ExitCodesAndSignals) {
  ExitStatus seven = run(shell("exit 7"));
  EXPECT_FALSE(seven.signaled);
  EXPECT_EQ(seven.shell_code(), 7);
  ExitStatus killed = run(shell("kill -TERM $$"));
  EXPECT_TRUE(killed.signaled);
  EXPECT_EQ(killed.code, SIGTERM);
  EXPECT_EQ(killed.shell_code(), 128 + SIGTERM);
}

TEST(Process, SetUpErrorsCarryStageAndErrno) {
  Spawn spawn = shell("exit 0");
  spawn.path = "/nonexistent/program";
  Result<Process> child = start(spawn);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().errno_value, ENOENT);
  EXPECT_EQ(child.error().message(), "process: /nonexistent/program: exec: No such file or directory");

  spawn.path = "/etc/passwd";
  EXPECT_EQ(start(spawn).error().errno_value, EACCES);
  spawn = shell("exit 0");
  spawn.directory = "/nonexistent";
  EXPECT_EQ(start(spawn).error().what, "chdir: No such file or directory");
  spawn = shell("exit 0");
  spawn.keep[5] = 987;
  EXPECT_EQ(start(spawn).error().errno_value, EBADF);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a failed child was not reaped";
}

TEST(Process, RefusesWhatExecWouldCutShort) {
  Spawn spawn = shell("exit 0");
  spawn.argv.push_back(std::string("a\0b", 3));
  EXPECT_EQ(start(spawn).error().errno_value, EINVAL);
  spawn = shell("exit 0");
  spawn.environment.push_back(std::string("A=\0", 3));
  EXPECT_FALSE(start(spawn));
  EXPECT_FALSE(start(Spawn{}));
  spawn = shell("exit 0");
  spawn.keep[-1] = 0;
  EXPECT_FALSE(start(spawn));
}

TEST(Process, EnvironmentAndDirectoryAreExact) {
  ::setenv("ONCELATCH_TEST_LEAK", "1", 1);
  Spawn spawn;
  spawn.path = "/usr/bin/env";
  spawn.argv = {"env"};
  spawn.environment = {"ONLY=this"};
  EXPECT_EQ(output_of(spawn), "ONLY=this\n");
  ::unsetenv("ONCELATCH_TEST_LEAK");
  spawn = shell("pwd -P");
  spawn.directory = "/usr";
  EXPECT_EQ(output_of(spawn), "/usr\n");
}

TEST(Process, OnlyKeptDescriptorsAreInherited) {
  Fd leak(::open("/dev/null", O_RDONLY));  // not close-on-exec
  Fd high(::fcntl(leak.get(), F_DUPFD, 200));
  ASSERT_TRUE(leak && high);
  Spawn spawn = shell("for f in /proc/self/fd/*; do [ -e \"$f\" ] && echo \"${f##*/}\"; done");
  spawn.keep[7] = leak.get();
  EXPECT_EQ(output_of(spawn), "0\n1\n2\n7\n");
}

TEST(Process, StandardDescriptorsDefaultToDevNull) {
  Spawn spawn = shell("readlink /proc/self/fd/0 >&9; readlink /proc/self/fd/2 >&9");
  Ends ends = make_pipe();
  spawn.keep = {{9, ends.write.get()}};
  EXPECT_EQ(run(spawn).shell_code(), 0);
  ends.write.reset();
  EXPECT_EQ(*read_whole(ends.read.get(), "output", 1000), "/dev/null\n/dev/null\n");
}

TEST(Process, OverlappingNumbersAreSwapped) {
  TemporaryDirectory temporary;
  Fd a(::open(temporary.path("a").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  Fd b(::open(temporary.path("b").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  Spawn spawn = shell("echo to-a >&" + std::to_string(b.get()) + "; echo to-b >&" + std::to_string(a.get()));
  spawn.argv[0] = "bash";
  spawn.path = "/bin/bash";  // dash knows only one digit after >&
  spawn.keep = {{a.get(), b.get()}, {b.get(), a.get()}};
  EXPECT_EQ(run(spawn).shell_code(), 0);
  EXPECT_EQ(*read_file(temporary.fd(), "a", 100), "to-a\n");
  EXPECT_EQ(*read_file(temporary.fd(), "b", 100), "to-b\n");
}

TEST(Process, KeepingANumberAtItsPlaceWorks) {
  Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Spawn spawn = shell("[ -e /proc/self/fd/" + std::to_string(file.get()) + " ]");
  spawn.keep = {{file.get(), file.get()}};
  EXPECT_EQ(run(spawn).shell_code(), 0);
}

TEST(Process, SignalMaskAndDispositionsAreReset) {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto old = ::signal(SIGPIPE, SIG_IGN);
  std::string status = output_of(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, &before, &now);
  ::signal(SIGPIPE, old);
  EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  EXPECT_EQ(::sigismember(&now, SIGUSR1), 1) << "the parent's mask must come back";
  EXPECT_EQ(::sigismember(&now, SIGUSR2), 0);
}

// The child writes "0" into each before anything else; one that takes no writing stops the start.
TEST(Process, EntersGroupsFirst) {
  Ends first = make_pipe();
  Ends second = make_pipe();
  Spawn spawn = shell("exit 7");
  spawn.enroll = {first.write.get(), second.write.get()};
  EXPECT_EQ(run(spawn).code, 7);
  first.write.reset();
  second.write.reset();
  EXPECT_EQ(*read_whole(first.read.get(), "first", 10), "0");
  EXPECT_EQ(*read_whole(second.read.get(), "second", 10), "0");
  spawn.enroll = {first.read.get()};
  Result<Process> refused = start(spawn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value, EBADF);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("entering the control group"));
  spawn.enroll = {-1};
  EXPECT_FALSE(start(spawn));
}

int handled = 0;

// The child shares our memory until its exec: handlers, mask and descriptors of ours must come out as they were.
TEST(Process, LeavesTheCallersStateAlone) {
  struct sigaction mine {};
  mine.sa_handler = [](int) { ++handled; };
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &mine, &before), 0);
  Fd zero(::open("/dev/zero", O_RDONLY));
  int flags = ::fcntl(zero.get(), F_GETFD);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(run(shell("kill -TERM $$")).code, SIGTERM);
    Spawn missing = shell("");
    missing.path = "/nonexistent";
    EXPECT_FALSE(start(missing));
  }
  ::raise(SIGUSR1);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(::fcntl(zero.get(), F_GETFD), flags);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Process, RunsADescriptor) {
  Fd program(::open("/bin/sh", O_RDONLY | O_CLOEXEC));
  Spawn spawn = shell("exit 5");
  spawn.path = "/nonexistent";
  spawn.executable_fd = program.get();
  EXPECT_EQ(run(spawn).shell_code(), 5);
}

TEST(Process, NewSession) {
  Spawn spawn = shell("ps -o sid= -p $$ | tr -d ' '; echo $$");
  spawn.new_session = true;
  std::string text = output_of(spawn);
  std::size_t line = text.find('\n');
  ASSERT_NE(line, std::string::npos);
  EXPECT_EQ(text.substr(0, line + 1), text.substr(line + 1));
}

TEST(Process, WaitHasALimitAndPollDoesNotBlock) {
  Result<Process> child = start(shell("exec sleep 60"));
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(milliseconds(30)).error().errno_value, ETIMEDOUT);
  EXPECT_EQ(*child->poll(), std::nullopt);
  EXPECT_TRUE(child->signal(SIGINT));
  Result<ExitStatus> status = child->wait(seconds(10));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, SIGINT);
  EXPECT_FALSE(child->running());
  EXPECT_EQ(child->wait(seconds(1)).error().errno_value, ECHILD);
  EXPECT_EQ(child->signal(SIGINT).error().errno_value, ESRCH);
}

TEST(Process, DestructionKillsAndReaps) {
  pid_t pid = -1;
  {
    Result<Process> child = start(shell("exec sleep 60"));
    ASSERT_TRUE(child);
    pid = child->pid();
    Process moved = std::move(*child);
    EXPECT_FALSE(child->running());
    EXPECT_EQ(moved.pid(), pid);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(Process, AssignmentEndsTheOldChild) {
  Result<Process> first = start(shell("exec sleep 60"));
  Result<Process> second = start(shell("exec sleep 60"));
  ASSERT_TRUE(first && second);
  pid_t old = first->pid();
  *first = std::move(*second);
  EXPECT_EQ(::kill(old, 0), -1);
  EXPECT_TRUE(first->running());
}

TEST(Process, DetachLeavesItRunning) {
  pid_t pid = -1;
  {
    Result<Process> child = start(shell("exec sleep 60"));
    ASSERT_TRUE(child);
    pid = child->detach();
  }
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

// A helper process starts a grandchild tied to itself and ends; the grandchild must follow.
TEST(Process, DiesWithItsParent) {
  Ends ends = make_pipe();
  pid_t helper = ::fork();
  ASSERT_GE(helper, 0);
  if (helper == 0) {
    Spawn spawn = shell("echo ready >&3; exec sleep 60");
    spawn.death_signal = SIGKILL;
    spawn.keep[3] = ends.write.get();
    Result<Process> child = start(spawn);
    if (child) child->detach();
    char byte = 0;
    [[maybe_unused]] ssize_t got = ::read(ends.read.get(), &byte, 1);  // until it is ready
    ::_exit(child ? 0 : 1);
  }
  ends.write.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(helper, &status, 0), helper);
  ASSERT_EQ(status, 0);
  auto start_of_wait = std::chrono::steady_clock::now();
  EXPECT_TRUE(read_whole(ends.read.get(), "pipe", 100));  // its end comes when the grandchild is gone
  EXPECT_LT(std::chrono::steady_clock::now() - start_of_wait, seconds(20));
}

TEST(Process, FindsSystemPrograms) {
  EXPECT_THAT(*find_system_program("sh"), testing::AnyOf("/usr/bin/sh", "/bin/sh"));
  EXPECT_EQ(find_system_program("no-such-program").error().errno_value, ENOENT);
  EXPECT_FALSE(find_system_program("../bin/sh"));
  EXPECT_FALSE(find_system_program(""));
}

}  // namespace
}  // namespace oncelatch
