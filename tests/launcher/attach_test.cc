// A person at a real terminal (a pty): answers in the agent's own prompt, detaches, comes back; the terminal is sane
// afterwards.
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <sstream>

#include "tests/launcher/scratch.h"
#include "tests/launcher/terminal.h"

namespace oncelatch::test {
namespace {

Json one_prompt(const std::string& command) {
  return {{"steps", {{{"type", "prompt"}, {"tool", "shell"}, {"command", command}}}}, {"exit_code", 7}};
}

TEST(Attach, APersonAnswersInTheTerminal) {
  Scratch scratch;
  scratch.scenario(one_prompt("touch by-hand"));
  Terminal seat(scratch.spawn(scratch.run_arguments()));
  ASSERT_TRUE(seat.shows("requires approval")) << seat.screen();
  scratch.wait_event("waiting_for_permission");
  seat.type("\r");
  EXPECT_EQ(seat.wait(), 7);
  EXPECT_TRUE(seat.is_as_before());
  EXPECT_TRUE(scratch.exists("repository/by-hand"));
  EXPECT_EQ(scratch.report().at("prompts").at(0).at("outcome"), "elsewhere");
}

TEST(Attach, DetachedSessionsGoOnAndAreComeBackTo) {
  Scratch scratch;
  scratch.scenario(one_prompt("touch later"));
  Terminal first(scratch.spawn(scratch.run_arguments()));
  ASSERT_TRUE(first.shows("requires approval")) << first.screen();
  first.type("\x1d");
  first.type("d");
  EXPECT_EQ(first.wait(), 0) << first.screen();
  EXPECT_NE(first.screen().find("detached; the session goes on"), std::string::npos) << first.screen();
  EXPECT_TRUE(first.is_as_before());
  ASSERT_EQ(scratch.session_directories().size(), 1U) << scratch.read("events.jsonl") << scratch.read("report.json");
  Terminal second(scratch.spawn({"attach"}));
  ASSERT_TRUE(second.shows("requires approval")) << second.screen();
  Json waiting = scratch.wait_event("waiting_for_permission");
  EXPECT_EQ(scratch.oncelatch({"approvals", "accept", waiting.value("id", "")}).status.shell_code(), 0);
  EXPECT_EQ(second.wait(), 7) << second.screen();
  EXPECT_TRUE(second.is_as_before());
  EXPECT_TRUE(scratch.exists("repository/later"));
  EXPECT_TRUE(eventually([&] { return scratch.session_directories().empty() && scratch.processes_left().empty(); }));
}

Output tmux(const std::string& socket, std::vector<std::string> words) {
  Spawn spawn;
  spawn.path = "/usr/bin/tmux";
  spawn.argv = {"tmux", "-S", socket};
  spawn.argv.insert(spawn.argv.end(), words.begin(), words.end());
  Result<Output> output = run_bounded(std::move(spawn), 1 << 16, std::chrono::seconds(10));
  return output ? *output : Output{};
}

// Of the client with this pid; empty while it isn't attached.
std::string client_name(const std::string& socket, int pid) {
  const std::string number = std::to_string(pid) + " ";
  std::istringstream lines(tmux(socket, {"list-clients", "-F", "#{client_pid} #{client_name}"}).out);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(number, 0) == 0) return line.substr(number.size());
  }
  return "";
}

// The person's client below the front end.
int attached_client(int front_end) {
  for (const ProcessLine& one : process_tree(front_end)) {
    bool control = one.command.find(" -C ") != std::string::npos;
    if (!control && one.command.find("attach-session -t main") != std::string::npos) return one.pid;
  }
  return -1;
}

Process attach_unconfined(const std::string& socket, int tty) {
  Spawn spawn;
  spawn.path = "/usr/bin/tmux";
  spawn.argv = {"tmux", "-S", socket, "attach-session", "-t", "main"};
  spawn.environment = {"TERM=xterm-256color", "LC_ALL=C.UTF-8"};
  spawn.keep = {{0, tty}, {1, tty}, {2, tty}};
  return std::move(*oncelatch::start(spawn));
}

// A server that was taken over can tell each client to run a command in its place: the person's client is confined, the
// one beside it, started by hand, isn't.
TEST(Attach, TheServerCantMakeTheClientRunAnything) {
  Scratch scratch;
  scratch.scenario(one_prompt("touch later"));
  Terminal seat(scratch.spawn(scratch.run_arguments()));
  ASSERT_TRUE(seat.shows("requires approval")) << seat.screen();
  const std::string socket =
      scratch.path("runtime/oncelatch/" + scratch.session_directories().at(0) + "/tmux/tmux.sock");
  int keyboard = -1;
  int tty = -1;
  ASSERT_EQ(::openpty(&keyboard, &tty, nullptr, nullptr, nullptr), 0);
  const Fd ours(keyboard);
  const Fd theirs(tty);
  const Process unconfined = attach_unconfined(socket, tty);
  const int confined = attached_client(seat.process().pid());
  for (int pid : {unconfined.pid(), confined}) {
    ASSERT_TRUE(eventually([&] { return !client_name(socket, pid).empty(); })) << pid;
    const std::string file = scratch.path(pid == confined ? "made-by-ours" : "made-by-bare");
    const Output told = tmux(socket, {"set-option", "-g", "default-shell", "/bin/sh", ";", "detach-client", "-t",
                                      client_name(socket, pid), "-E", "touch " + file});
    EXPECT_EQ(told.status.shell_code(), 0) << told.err;
  }
  EXPECT_TRUE(eventually([&] { return scratch.exists("made-by-bare"); })) << "the attempt itself must work";
  EXPECT_NE(seat.wait(), -1);
  EXPECT_FALSE(scratch.exists("made-by-ours"));
  EXPECT_TRUE(seat.is_as_before());
}

// Its client doesn't stay on the terminal without it; the session goes on.
TEST(Attach, WhoeverIsKilledGivesTheTerminalBack) {
  for (int number : {SIGKILL, SIGTERM}) {
    Scratch scratch;
    scratch.scenario(one_prompt("touch later"));
    Terminal first(scratch.spawn(scratch.run_arguments()));
    ASSERT_TRUE(first.shows("requires approval")) << first.screen();
    first.type("\x1d");
    first.type("d");
    EXPECT_EQ(first.wait(), 0) << first.screen();
    Terminal second(scratch.spawn({"attach"}));
    ASSERT_TRUE(second.shows("requires approval")) << second.screen();
    ASSERT_EQ(::kill(second.process().pid(), number), 0);
    EXPECT_EQ(second.wait(), 128 + number);
    EXPECT_TRUE(eventually([&] { return second.shows("\x1b[?1049l") || second.is_as_before(); })) << second.screen();
    EXPECT_TRUE(eventually([&] { return second.is_as_before(); })) << number;
    Json waiting = scratch.wait_event("waiting_for_permission");
    EXPECT_EQ(scratch.oncelatch({"approvals", "accept", waiting.value("id", "")}).status.shell_code(), 0);
    EXPECT_TRUE(eventually([&] { return scratch.exists("repository/later"); })) << "it went on";
    EXPECT_TRUE(eventually([&] { return scratch.processes_left().empty(); }));
  }
}

TEST(Attach, NoSuchSessionIsAClearError) {
  Scratch scratch;
  Output none = scratch.oncelatch({"attach"});
  EXPECT_NE(none.status.shell_code(), 0);
  EXPECT_NE(none.err.find("none is running"), std::string::npos) << none.err;
  EXPECT_NE(scratch.oncelatch({"attach", "../x"}).status.shell_code(), 0);
}

class TerminalSignal : public ::testing::TestWithParam<int> {};

TEST_P(TerminalSignal, LeavesASaneTerminal) {
  Scratch scratch;
  scratch.scenario(one_prompt("touch never"));
  Terminal seat(scratch.spawn(scratch.run_arguments()));
  ASSERT_TRUE(seat.shows("requires approval")) << seat.screen();
  scratch.wait_event("waiting_for_permission");
  ASSERT_EQ(::kill(seat.process().pid(), GetParam()), 0);
  EXPECT_EQ(seat.wait(), 128 + GetParam());
  EXPECT_TRUE(eventually([&] { return seat.is_as_before(); }));
  EXPECT_FALSE(scratch.exists("repository/never"));
  EXPECT_TRUE(eventually([&] { return scratch.session_directories().empty() && scratch.processes_left().empty(); }));
}
INSTANTIATE_TEST_SUITE_P(Signals, TerminalSignal, ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGKILL));

}  // namespace
}  // namespace oncelatch::test
