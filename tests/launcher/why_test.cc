// `oncelatch why`: permitted and refused things side by side, the rule, the attempt, the option; and that the option it
// names really changes it. As root and as an ordinary user.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Why : public ::testing::TestWithParam<uid_t> {
 protected:
  Output ask(std::vector<std::string> words, int code) {
    words.insert(words.begin(), "why");
    Output output = scratch.oncelatch(words);
    EXPECT_EQ(output.status.shell_code(), code) << ::testing::PrintToString(words) << output.out << output.err;
    return output;
  }
  Scratch scratch{GetParam()};
};

TEST_P(Why, WhatNobodyShows) {
  Output output = ask({"/etc/shadow"}, 1);
  EXPECT_THAT(output.out, AllOf(HasSubstr("of /etc the sandbox has a list"), HasSubstr("--read /etc/shadow"),
                                HasSubstr("keys or tokens"), HasSubstr("No such file or directory")));
  EXPECT_THAT(ask({"/etc/passwd"}, 0).out, HasSubstr("made for the sandbox"));
  EXPECT_THAT(ask({"write:/etc/passwd"}, 1).out, HasSubstr("the system is never writable"));
}

TEST_P(Why, TheWorkspace) {
  scratch.write("repository/file", "text", 0644);
  EXPECT_THAT(ask({"file"}, 0).out, AllOf(HasSubstr("the workspace"), HasSubstr("yes         yes")));
  ask({"write:file"}, 0);
  EXPECT_THAT(ask({"exec:file"}, 1).out, HasSubstr("mode or owner"));
  ask({"create:new"}, 0);
  EXPECT_FALSE(scratch.exists("repository/new"));
  ask({"new"}, 1);
  EXPECT_EQ(scratch.read("repository/file"), "text");
}

TEST_P(Why, WhatGitWouldRun) {
  scratch.write("repository/.git/config", "[core]\n", 0644);
  EXPECT_THAT(ask({"write:.git/config"}, 1).out,
              AllOf(HasSubstr("protected"), HasSubstr("no option"), HasSubstr("Permission denied")));
  // What isn't there yet: by its name.
  EXPECT_THAT(ask({"create:src/.envrc"}, 1).out,
              AllOf(HasSubstr("the workspace guard keeps this name: direnv runs it"), HasSubstr("no option")));
  scratch.write("repository/.vscode/tasks.json", "{}", 0644);
  EXPECT_THAT(ask({"write:.vscode/tasks.json"}, 1).out,
              HasSubstr("the workspace guard keeps this name: the editor runs its"));
  ask({".vscode/tasks.json"}, 0);
  ask({".git/config"}, 0);
}

TEST_P(Why, WhatTheGuardHolds) {
  scratch.write("repository/package.json", "{}", 0644);
  EXPECT_THAT(ask({"--profile", "strict", "write:package.json"}, 1).out,
              AllOf(HasSubstr("the workspace guard holds this name"), HasSubstr("it is refused here"),
                    HasSubstr("--held report"), HasSubstr("Permission denied")));
  EXPECT_THAT(ask({"--profile", "strict", "create:Makefile"}, 1).out, HasSubstr("--held report"));
  ask({"--profile", "strict", "--held", "report", "write:package.json"}, 0);
  EXPECT_THAT(ask({"write:package.json"}, 0).out, HasSubstr("told after the run"));
  ask({"--profile", "strict", "create:node_modules.json"}, 0);
  ask({"--held", "refuse", "create:Makefile"}, 0);
}

TEST_P(Why, TheOptionItNamesChangesIt) {
  scratch.write("other/data", "x", 0644);
  const std::string data = scratch.path("other/data");
  EXPECT_THAT(ask({data}, 1).out, HasSubstr("--read " + data));
  EXPECT_THAT(ask({"--read", data, data}, 0).out, HasSubstr("rule              --read"));
  EXPECT_THAT(ask({"--read", data, "write:" + data}, 1).out, HasSubstr("--write " + data));
  ask({"--write", data, "write:" + data}, 0);
}

// What an attempt can't try is no disagreement, and what is permitted needs no change.
TEST_P(Why, EveryUseOfEveryKind) {
  scratch.write("repository/file", "text", 0644);
  scratch.write("other/data", "x", 0644);
  ASSERT_EQ(::mkfifo(scratch.path("repository/fifo").c_str(), 0666), 0);
  ASSERT_EQ(::chown(scratch.path("repository/fifo").c_str(), GetParam(), GetParam()), 0);
  for (const char* object : {".", "write:.", "create:.", "write:/tmp", "write:/dev/shm", "create:file", "write:new",
                             "exec:/bin/sh", "/usr/bin/env", "/usr", "fifo", "write:fifo"})
    EXPECT_THAT(ask({object}, 0).out, Not(HasSubstr("to change"))) << object;
  for (const char* object : {"write:/usr", "exec:/usr/bin", "exec:/proc", "exec:.", "create:/etc/passwd", "exec:fifo",
                             "write:/etc/new", "write:/no/such"})
    EXPECT_THAT(ask({object}, 1).out, HasSubstr("to change")) << object;
  EXPECT_THAT(ask({"exec:."}, 1).out, HasSubstr("it is a directory"));
  EXPECT_THAT(ask({"create:" + scratch.path("other/new")}, 1).out, HasSubstr("--write " + scratch.path("other")));
}

TEST_P(Why, WhatIsDenied) {
  scratch.write("repository/secret/key", "k", 0644);
  scratch.write("repository/plain", "p", 0644);
  EXPECT_THAT(ask({"--deny", "secret", "secret/key"}, 1).out,
              AllOf(HasSubstr("hidden: --deny"), HasSubstr("leave out --deny")));
  ask({"--deny", "secret", "plain"}, 0);
  ask({"secret/key"}, 0);
}

TEST_P(Why, ModesOfTheFile) {
  scratch.write("repository/closed", "x", 0000);
  EXPECT_THAT(ask({"closed"}, 1).out, AllOf(HasSubstr("mode 0000"), HasSubstr("Permission denied")));
}

TEST_P(Why, LinksAreFollowed) {
  scratch.write("repository/file", "text", 0644);
  ASSERT_EQ(::symlink("file", scratch.path("repository/near").c_str()), 0);
  ASSERT_EQ(::symlink("/etc/shadow", scratch.path("repository/far").c_str()), 0);
  EXPECT_THAT(ask({"near"}, 0).out, HasSubstr("-> " + scratch.path("repository/file")));
  EXPECT_THAT(ask({"far"}, 1).out, HasSubstr("-> /etc/shadow"));
}

TEST_P(Why, PrivatePlacesAndKernelFiles) {
  ask({"create:/tmp/x"}, 0);
  ask({"create:/dev/shm/x"}, 0);
  ask({"create:/home/agent/x"}, 0);
  ask({"create:/x"}, 1);
  ask({"/dev/null"}, 0);
  ask({"/dev/kmsg"}, 1);
  ask({"/proc/self/status"}, 0);
  ask({"write:/proc/sys/kernel/core_pattern"}, 1);
  ask({"/proc/1/mem"}, 1);
  ask({"/sys"}, 1);
  EXPECT_THAT(ask({"exec:/bin/sh"}, 0).out, HasSubstr("built in: the system"));
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

Fd listen_at(const std::string& path, uid_t owner) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = unix_address(path);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), 5), 0);
  EXPECT_EQ(::chown(path.c_str(), owner, owner), 0);
  return socket;
}

TEST_P(Why, UnixSockets) {
  scratch.write("other/keep", "");
  ASSERT_EQ(::chmod(scratch.path("other").c_str(), 0755), 0);
  ASSERT_EQ(::chown(scratch.path("other").c_str(), GetParam(), GetParam()), 0);
  Fd outside = listen_at(scratch.path("other/s"), GetParam());
  Fd inside = listen_at(scratch.path("repository/s"), GetParam());
  EXPECT_THAT(ask({"socket:" + scratch.path("other/s")}, 1).out, HasSubstr("--read " + scratch.path("other")));
  ask({"--read", scratch.path("other"), "socket:" + scratch.path("other/s")}, 0);
  ask({"socket:" + scratch.path("repository/s")}, 0);
  ask({"socket:/run/docker.sock"}, 1);
}

TEST_P(Why, AbstractSockets) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string name = "oncelatch-why-test-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket.get(), 5), 0);
  EXPECT_THAT(ask({"socket:abstract:" + name}, 1).out, HasSubstr("network namespace"));
  EXPECT_THAT(ask({"--net", "ports:443", "socket:abstract:" + name}, 1).out, HasSubstr("Operation not permitted"));
}

TEST_P(Why, TcpPorts) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket.get(), 5), 0);
  ASSERT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const std::string object = "socket:tcp:127.0.0.1:" + port;
  EXPECT_THAT(ask({object}, 1).out, AllOf(HasSubstr("--net ports:" + port), HasSubstr("any host on TCP port")));
  EXPECT_THAT(ask({"--net", "ports:" + port, object}, 0).out, HasSubstr("yes         yes"));
  ask({"--net", "ports:1", object}, 1);
  EXPECT_THAT(ask({"--net", "loopback", object}, 0).out,
              AllOf(HasSubstr("note"), HasSubstr("only servers inside"), Not(HasSubstr("to change"))));
  ask({"--net", "loopback", "socket:tcp:192.0.2.1:" + port}, 1);
  ask({"socket:tcp:[::1]:" + port}, 1);
}

TEST_P(Why, SystemCalls) {
  EXPECT_THAT(ask({"ptrace"}, 1).out, AllOf(HasSubstr("filter group other-processes, EPERM for every call"),
                                            HasSubstr("--allow ptrace"), HasSubstr("debuggers")));
  EXPECT_THAT(ask({"--allow", "ptrace", "ptrace"}, 0).out, HasSubstr("let through"));
  EXPECT_THAT(ask({"syscall:io_uring_setup"}, 1).out, AllOf(HasSubstr("ENOSYS"), HasSubstr("no option")));
  EXPECT_THAT(ask({"syscall:statmount"}, 1).out, HasSubstr("newer-calls"));
  EXPECT_THAT(ask({"socket"}, 0).out, AllOf(HasSubstr("socket-families"), HasSubstr("other arguments")));
  EXPECT_THAT(ask({"fork"}, 0).out, HasSubstr("not tried"));
  ask({"read"}, 0);
}

TEST_P(Why, AnAnswerThatIsNotTakenIsAFailure) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"why", "."},
                                                {"exec", "--explain", "--", "true"},
                                                {"doctor"},
                                                {"why", "--help"},
                                                {"exec", "--help"}}) {
    Output output = scratch.oncelatch_behind({"/bin/sh", "-c", "exec \"$@\" > /dev/full", "sh"}, words);
    EXPECT_EQ(output.status.shell_code(), 125) << ::testing::PrintToString(words) << output.err;
    EXPECT_THAT(output.err, AllOf(HasSubstr("No space left"), HasSubstr("try:"))) << ::testing::PrintToString(words);
  }
}

TEST_P(Why, QuestionsWithoutSense) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"a", "b"},
                                                {"syscall:nonsense"},
                                                {"socket:udp:1"},
                                                {"socket:tcp:host:80"},
                                                {"socket:tcp:127.0.0.1"},
                                                {"write:"},
                                                {"--net", "all", "x"},
                                                {"--profile", "nobody", "x"}})
    EXPECT_THAT(ask(words, 122).err, HasSubstr("try:"));
  EXPECT_THAT(ask({"--help"}, 0).out, HasSubstr("Usage: oncelatch why"));
}

TEST_P(Why, OwnProfilesCount) {
  scratch.write("lab.yaml", "read: [" + scratch.path("shown") + "]\n");
  scratch.write("shown/data", "x", 0644);
  EXPECT_THAT(ask({"--profile", scratch.path("lab.yaml"), scratch.path("shown/data")}, 0).out,
              HasSubstr("--read, from lab.yaml"));
  ask({scratch.path("shown/data")}, 1);
}

INSTANTIATE_TEST_SUITE_P(Users, Why, ::testing::ValuesIn(users()));

// An attribute that neither the plan nor the view knows.
TEST(WhyDisagreement, IsToldLoudly) {
  Scratch scratch;
  scratch.write("repository/file", "x", 0644);
  Fd file(::open(scratch.path("repository/file").c_str(), O_RDONLY | O_CLOEXEC));
  int flags = 0;
  ASSERT_EQ(::ioctl(file.get(), FS_IOC_GETFLAGS, &flags), 0);
  int frozen = flags | FS_IMMUTABLE_FL;
  if (::ioctl(file.get(), FS_IOC_SETFLAGS, &frozen) != 0) GTEST_SKIP() << "no attributes here";
  Output output = scratch.oncelatch({"why", "write:file"});
  ASSERT_EQ(::ioctl(file.get(), FS_IOC_SETFLAGS, &flags), 0);
  EXPECT_EQ(output.status.shell_code(), 125) << output.out;
  EXPECT_THAT(output.err, HasSubstr("DISAGREEMENT"));
  EXPECT_EQ(scratch.oncelatch({"why", "write:file"}).status.shell_code(), 0);
}

// There the view is the host's own, for which it has no answers.
TEST(WhyWithoutNamespaces, IsRefused) {
  Scratch scratch;
  Output output = scratch.oncelatch_behind(
      {std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall", "user-namespaces"}, {"why", "/etc/shadow"});
  EXPECT_EQ(output.status.shell_code(), 121) << output.out;
  EXPECT_THAT(output.err, HasSubstr("a required guarantee is not available"));
}

// Outside a sandbox the hidden words do no more than their caller could.
TEST(Attempt, TellsErrnosOnly) {
  Spawn spawn;
  spawn.path = program("oncelatch");
  spawn.argv = {"oncelatch-attempt", "path", "/nowhere/at/all"};
  Result<Output> output = run_bounded(spawn, 4096, std::chrono::seconds(10));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "visible 2\ncreatable 2\n");
  spawn.argv = {"oncelatch-attempt", "unknown"};
  output = run_bounded(spawn, 4096, std::chrono::seconds(10));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "");
}

}  // namespace
}  // namespace oncelatch::test
