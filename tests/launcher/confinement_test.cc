// What the agent's own commands can't do inside a whole session: a probe program, started by an approved command, tries
// it and prints what the kernel said. As the caller and, for root, as an ordinary user too.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

class Confinement : public ::testing::TestWithParam<uid_t> {};

// Runs `command` inside a session through an approved prompt; `before` is called with the session's directory first.
template <class Before>
std::string run_inside(const Scratch& scratch, Before before) {
  scratch.scenario({{"steps", {{{"type", "prompt"}, {"tool", "shell"}, {"command", "sh attempts.sh"}}}}});
  Process run = scratch.start(scratch.run_arguments());
  Json waiting = scratch.wait_event("waiting_for_permission");
  std::vector<std::string> sessions = scratch.session_directories();
  EXPECT_EQ(sessions.size(), 1U);
  scratch.write("repository/attempts.sh", before(scratch.path("runtime/oncelatch/" + sessions.at(0)), run.pid()), 0644);
  Output accepted = scratch.oncelatch({"approvals", "accept", waiting.value("id", "")});
  EXPECT_EQ(accepted.status.shell_code(), 0) << accepted.err;
  Result<ExitStatus> status = run.wait(std::chrono::seconds(60));
  EXPECT_TRUE(status && status->shell_code() == 0) << scratch.read("stderr.txt");
  return scratch.read("repository/results.txt");
}

void install_probe(const Scratch& scratch) {
  std::filesystem::copy_file(std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/probe",
                             scratch.path("repository/probe"));
  std::filesystem::permissions(scratch.path("repository/probe"), std::filesystem::perms(0755));
}

std::map<std::string, std::string> parse(const std::string& text) {
  std::map<std::string, std::string> results;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t blank = line.rfind(' ');
    if (blank != std::string::npos) results[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return results;
}

// A listening TCP socket of the host on a port of its own choosing.
Fd listen_outside(int* port) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener.get(), 4), 0);
  EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  *port = ntohs(address.sin_port);
  return listener;
}

TEST_P(Confinement, WhatMustFailFails) {
  Scratch scratch(GetParam());
  int port = 0;
  Fd listener = listen_outside(&port);
  install_probe(scratch);
  scratch.write("home/secret", "a canary of the real home");
  scratch.write("policy.yaml", "rules: []\n");
  scratch.write("outside.txt", "outside");

  std::string text = run_inside(scratch, [&](const std::string& session, int pid) {
    std::vector<std::string> attempts = {"write=" + scratch.path("new.txt"),
                                         "append=" + scratch.path("outside.txt"),
                                         "write=/usr/x",
                                         "write=/x",
                                         "read=" + scratch.path("home/secret"),
                                         "list=" + scratch.path("home"),
                                         "list=/root",
                                         "list=/home/../root",
                                         "read=/etc/shadow",
                                         "read=" + scratch.path("policy.yaml"),
                                         "append=" + scratch.path("policy.yaml"),
                                         "read=" + scratch.path("state/oncelatch/audit.db"),
                                         "append=" + scratch.path("state/oncelatch/audit.db"),
                                         "unix=" + session + "/tmux/tmux.sock",
                                         "unix=" + session + "/approvals.sock",
                                         "append=" + session + "/tmux/relay.fifo",
                                         "unix=" + session + "/front.sock",
                                         "list=" + session,
                                         "signal=" + std::to_string(pid),
                                         "signal=1",
                                         "ptrace-attach=1",
                                         "ptrace-me",
                                         "unshare-user",
                                         "unshare-mount",
                                         "unshare-all",
                                         "clone-user",
                                         "clone3-user",
                                         "list=/proc/" + std::to_string(pid),
                                         "io-uring",
                                         "tiocsti",
                                         "tiocsti-high",
                                         "tioclinux",
                                         "mount",
                                         "keyctl",
                                         "bpf",
                                         "tcp=" + std::to_string(port),
                                         "fast-open=" + std::to_string(port),
                                         "read=/proc/1/environ",
                                         "read=/proc/1/mem",
                                         "append=/proc/sys/kernel/core_pattern"};
    std::string command = "./probe";
    for (const std::string& one : attempts) command += " '" + one + "'";

    return command +
           " > results.txt 2>&1 < /dev/tty; ./probe write=made.txt read=attempts.sh write=/tmp/t write=$HOME/h >> "
           "results.txt\n";
  });
  std::map<std::string, std::string> results = parse(text);
  EXPECT_GE(results.size(), 35U) << text;
  for (const auto& [attempt, result] : results) {
    bool works = attempt == "write=made.txt" || attempt == "read=attempts.sh" || attempt == "write=/tmp/t" ||
                 attempt == "write=/home/agent/h";
    // Pid 1 inside is not the host's: a signal to it says success and reaches nothing outside.
    // The scratch directory's own name inside is a private /tmp: writing there reaches nothing of the host.
    if (attempt == "signal=1" || attempt == "write=" + scratch.path("new.txt")) continue;
    if (works) {
      EXPECT_EQ(result, "OK") << attempt;
    } else {
      EXPECT_TRUE(result[0] == 'E' || result.rfind("SIG", 0) == 0) << attempt << " " << result;
    }
  }
  EXPECT_EQ(scratch.read("outside.txt"), "outside");
  EXPECT_FALSE(scratch.exists("new.txt"));
  EXPECT_EQ(scratch.oncelatch({"audit", "verify"}).status.shell_code(), 0);
}

TEST_P(Confinement, OrdinaryWorkSucceeds) {
  Scratch scratch(GetParam());
  scratch.write("home/.gitconfig", "[user]\n\tname = A Name\n\temail = a@b\n");
  ASSERT_EQ(scratch.on_host("git init -q ."), "");
  std::string text = run_inside(scratch, [&](const std::string&, int) {
    return std::string(
        "{ git add attempts.sh && git commit -q -m work && git log -1 --format=%an:%ae; echo $HOME; "
        "id -u; "
        "stat -c %a $HOME; stat -c %u made 2>/dev/null; touch made; stat -c %u made; ls .kiro/agents 2>&1; } > "
        "results.txt 2>&1\n");
  });
  EXPECT_NE(text.find("A Name:a@b"), std::string::npos) << text;
  EXPECT_NE(text.find("/home/agent\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n700\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n" + std::to_string(GetParam()) + "\n"), std::string::npos) << text;
}

TEST_P(Confinement, TheRepositorysAgentConfigurationIsHidden) {
  Scratch scratch(GetParam());
  std::filesystem::create_directories(scratch.path("repository/.kiro/agents"));
  std::filesystem::create_directories(scratch.path("repository/.kiro/specs"));
  scratch.write("repository/.kiro/agents/evil.json", "planted", 0644);
  scratch.write("repository/.kiro/specs/plan.md", "a spec", 0644);
  std::string text = run_inside(scratch, [&](const std::string&, int) {
    return std::string(
        "{ cat .kiro/agents/evil.json; cat .kiro/specs/plan.md; touch .kiro/agents/new; } > results.txt 2>&1\n");
  });
  EXPECT_EQ(text.find("planted"), std::string::npos) << text;
  EXPECT_NE(text.find("a spec"), std::string::npos) << text;
  EXPECT_FALSE(scratch.exists("repository/.kiro/agents/new"));
}

TEST_P(Confinement, AGitFileThatNamesTheRepositoryStays) {
  Scratch scratch(GetParam());
  scratch.write("repository/.git", "gitdir: ../elsewhere\n", 0644);
  std::string text = run_inside(scratch, [&](const std::string&, int) {
    return std::string("{ echo gitdir: evil > .git; rm -f .git; mv .git x; } > results.txt 2>&1\n");
  });
  EXPECT_EQ(scratch.read("repository/.git"), "gitdir: ../elsewhere\n") << text;
}

INSTANTIATE_TEST_SUITE_P(Users, Confinement, ::testing::ValuesIn(users()), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace oncelatch::test
