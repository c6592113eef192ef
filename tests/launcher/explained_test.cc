// B136: what is explained, by `why` and by the refusal of a launch, is what then happens inside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Explained : public Exec {
 protected:
  // Asked, and done: both permit or both refuse. "as is permitted" tells which.
  void expect(bool permitted, const Words& options, const std::string& object, const Words& command) const {
    SCOPED_TRACE(::testing::PrintToString(options) + " " + object);
    Words why = {"why"};
    why.insert(why.end(), options.begin(), options.end());
    why.push_back(object);
    const Output told = scratch.oncelatch_behind(front, why);
    EXPECT_EQ(told.status.shell_code(), permitted ? 0 : 1) << told.out << told.err;
    const Output done = scratch.oncelatch_behind(front, all(options, command));
    EXPECT_EQ(done.out == "done\n", permitted) << done.out << done.err;
  }
  void expect_in_shell(bool permitted, const Words& options, const std::string& object,
                       const std::string& script) const {
    expect(permitted, options, object, {"sh", "-c", "(" + script + ") >/dev/null 2>&1 && echo done"});
  }
  Words front = {"/usr/bin/env"};
};

Fd listen_at(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), 64), 0);
  EXPECT_EQ(::chmod(path.c_str(), 0666), 0);
  return socket;
}

TEST_P(Explained, B136Sockets) {
  make_directory("engine");
  make_directory("repository/run");
  const std::string engine = path("engine/docker.sock");
  const Fd outside = listen_at(engine);
  const Fd inside = listen_at(path("repository/run/s"));
  auto connect = [](const std::string& to) {
    return Words{"python3", "-c",
                 "import socket,sys\nsocket.socket(socket.AF_UNIX).connect(sys.argv[1])\nprint('done')", to};
  };
  expect(false, {}, "socket:" + engine, connect(engine));
  expect(false, {}, "socket:/run/docker.sock", connect("/run/docker.sock"));
  expect(true, {"--read", path("engine")}, "socket:" + engine, connect(engine));
  expect(false, {"--read", path("engine"), "--deny", engine}, "socket:" + engine, connect(engine));
  expect(true, {}, "socket:" + path("repository/run/s"), connect(path("repository/run/s")));
  expect(false, {"--deny", "run"}, "socket:" + path("repository/run/s"), connect(path("repository/run/s")));
}

TEST_P(Explained, B136Datagrams) {
  auto send = [](const std::string& to) {
    return Words{"python3", "-c",
                 "import socket,sys\ns=socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET,"
                 "socket.SOCK_DGRAM)\ns.connect((sys.argv[1],9))\nprint('done')",
                 to};
  };
  for (const char* to : {"127.0.0.1", "192.0.2.1", "::1"}) {
    const std::string host = to;
    const std::string object = "socket:udp:" + (host == "::1" ? "[::1]" : host) + ":9";
    expect(false, {}, object, send(host));
    expect(host != "192.0.2.1", {"--net", "loopback"}, object, send(host));
    if (host == "127.0.0.1") expect(true, {"--net", "ports:443"}, object, send(host));
  }
}

// One that lay there before: readable, not writable, and never hidden by one of its names alone.
TEST_P(Explained, B136AHardLink) {
  scratch.write("secret", "canary-4711\n", 0644);
  scratch.write("repository/own", "canary-4711\n", 0644);
  std::filesystem::create_hard_link(path("secret"), path("repository/link"));
  std::filesystem::create_hard_link(path("repository/own"), path("repository/other"));
  for (const char* name : {"link", "own", "other"}) {
    expect_in_shell(true, {}, name, std::string("cat ") + name);
    expect_in_shell(false, {}, std::string("write:") + name, std::string("echo x >> ") + name);
    expect_in_shell(false, {}, std::string("create:") + name, std::string("echo x > ") + name);
    expect_in_shell(true, {"--workspace-mode", "overlay"}, std::string("write:") + name,
                    std::string("echo x >> ") + name);
    for (const std::string command : {"exec", "why"}) {
      Words words = {command, "--deny", name};
      if (command == "exec") words.insert(words.end(), {"--", "echo", "RAN"});
      if (command == "why") words.emplace_back("own");
      const Output refused = scratch.oncelatch(words);
      EXPECT_EQ(refused.status.shell_code(), 122) << refused.out << refused.err;
      EXPECT_THAT(refused.err, AllOf(HasSubstr("more than one name"), HasSubstr("can't be enforced"), HasSubstr("try:"),
                                     HasSubstr("--accept-loss deny_inside")));
      EXPECT_EQ(refused.out, "");
    }
  }
  EXPECT_EQ(scratch.read("secret") + scratch.read("repository/own"), "canary-4711\ncanary-4711\n");
  const Output accepted =
      run({"--deny", "own", "--accept-loss", "deny_inside"}, {"sh", "-c", "cat own; cat other; echo end"});
  EXPECT_EQ(accepted.out, "canary-4711\nend\n");
  EXPECT_THAT(accepted.err, HasSubstr("only this one can be hidden"));
  EXPECT_EQ(scratch.on_host("cp -p own new && mv new own"), "");
  expect_in_shell(false, {"--deny", "own"}, "write:own", "echo x >> own");
  expect_in_shell(true, {}, "write:own", "echo x >> own");
}

// What this kernel doesn't have: a refusal that names it, and once it is accepted, an answer that fits.
TEST_P(Explained, B136AFeatureThatIsMissing) {
  const std::string probe = std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall";
  front = {probe, "listener"};
  for (const Words& words : {Words{"why", "create:.envrc"}, all({}, {"echo", "RAN"})}) {
    const Output refused = scratch.oncelatch_behind(front, words);
    EXPECT_EQ(refused.status.shell_code(), 121) << refused.out << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("creation_guard"), HasSubstr("try:")));
    EXPECT_EQ(refused.out, "");
  }
  expect_in_shell(true, {"--accept-loss", "creation_guard"}, "create:.envrc", "echo x > .envrc && rm .envrc");
  expect_in_shell(true, {"--workspace-mode", "overlay"}, "create:.envrc", "echo x > .envrc");
  EXPECT_FALSE(scratch.exists("repository/.envrc"));
  front = {"/usr/bin/env"};
  expect_in_shell(false, {}, "create:.envrc", "echo x > .envrc");
}

EXEC_USERS(Explained);

}  // namespace
}  // namespace oncelatch::test
