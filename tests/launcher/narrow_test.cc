// A whole session whose tmux server obeys an attacker: the commands come from a client of the test's own, as they would
// from a server that was taken over. Nothing but the relay starts, nothing outside is read or written, the session
// lives.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

// An unconfined control client: attached, so that the server itself opens the files that commands name.
class Attacker {
 public:
  explicit Attacker(const std::string& socket) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = Fd(ends[0]);
    const Fd theirs(ends[1]);
    Spawn spawn;
    spawn.path = "/usr/bin/tmux";
    spawn.argv = {"tmux", "-S", socket, "-f", "/dev/null", "-C", "attach-session", "-f", "ignore-size", "-t", "main"};
    spawn.environment = {"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "TERM=screen-256color"};
    spawn.keep = {{0, theirs.get()}, {1, theirs.get()}};
    client_ = std::move(*oncelatch::start(spawn));
    (void)read_until("%session-changed");
  }
  // What the server answered, errors included.
  std::string ask(const std::string& command) {
    const std::string token = "done-" + std::to_string(++asked_);
    const std::string text = command + "\ndisplay-message -p " + token + "\n";
    EXPECT_EQ(::send(ours_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    return read_until(token + "\n");
  }

 private:
  std::string read_until(const std::string& word) {
    std::string text;
    char buffer[4096];
    pollfd one{ours_.get(), POLLIN, 0};
    while (text.find(word) == std::string::npos && ::poll(&one, 1, 5000) > 0) {
      const ssize_t got = ::recv(ours_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    EXPECT_NE(text.find(word), std::string::npos) << text;
    return text;
  }
  Process client_;
  Fd ours_;
  int asked_ = 0;
};

bool denied(const std::string& text) {
  return text.find("Permission denied") != std::string::npos;
}

class NarrowSession : public ::testing::TestWithParam<uid_t> {
 protected:
  NarrowSession() : scratch_(GetParam()) {
    scratch_.scenario({{"steps", {{{"type", "prompt"}, {"tool", "shell"}, {"command", "touch by-person"}}}}});
    scratch_.write("secret", "canary-of-the-user\n");
    scratch_.write("outside.txt", "outside");
    run_ = scratch_.start(scratch_.run_arguments());
    waiting_ = scratch_.wait_event("waiting_for_permission").value("id", "");
    directory_ = scratch_.path("runtime/oncelatch/" + scratch_.session_directories().at(0));
  }
  void expect_the_session_works() {
    EXPECT_EQ(scratch_.oncelatch({"approvals", "accept", waiting_}).status.shell_code(), 0);
    Result<ExitStatus> status = run_.wait(std::chrono::seconds(30));
    ASSERT_TRUE(status) << scratch_.read("stderr.txt");
    EXPECT_EQ(status->shell_code(), 0) << scratch_.read("stderr.txt");
    EXPECT_TRUE(scratch_.exists("repository/by-person"));
    EXPECT_TRUE(eventually([&] { return scratch_.session_directories().empty(); }));
    EXPECT_EQ(scratch_.oncelatch({"audit", "verify"}).status.shell_code(), 0);
    EXPECT_EQ(scratch_.report().at("prompts").at(0).at("outcome"), "confirmed");
  }
  [[nodiscard]] std::string socket() const { return directory_ + "/tmux/tmux.sock"; }

  Scratch scratch_;
  Process run_;
  std::string waiting_;
  std::string directory_;
};

TEST_P(NarrowSession, TheServerStartsNothing) {
  Attacker attacker(socket());
  // tmux 3.3a may crash on windows that end at once; these stay until they are killed.
  (void)attacker.ask("set-option -g remain-on-exit on");
  int number = 0;
  const auto made = [&] { return scratch_.path("repository/made-" + std::to_string(++number)); };
  for (const char* command :
       {"new-window 'touch %s'", "new-window /usr/bin/touch %s", "new-window /bin/sh -c 'touch %s'",
        "new-window /lib64/ld-linux-x86-64.so.2 /usr/bin/touch %s", "split-window 'touch %s'", "run-shell 'touch %s'",
        "run-shell -b '/usr/bin/touch %s'", "if-shell 'touch %s' 'display-message yes'", "pipe-pane -o 'cat > %s'",
        "new-session -d 'touch %s'", "display-message -p '#(touch %s)'",
        "set-hook -g client-attached 'run-shell \"touch %s\"'",
        "set-option -g default-shell /bin/sh ; new-window 'touch %s'"}) {
    std::string text = command;
    text.replace(text.find("%s"), 2, made());
    (void)attacker.ask(text);
  }
  (void)Attacker(socket()).ask("list-sessions");  // the hook's moment
  ::usleep(300'000);
  for (const auto& entry : std::filesystem::directory_iterator(scratch_.path("repository")))
    EXPECT_NE(entry.path().filename().string().rfind("made-", 0), 0U) << entry.path();
  EXPECT_NE(attacker.ask("list-panes -F '#{pane_start_command}' -t main:0").find("oncelatch-relay"), std::string::npos);
  // What the attack changed on the screen goes, so that a key of ours may be sent again.
  (void)attacker.ask("set-hook -gu client-attached ; pipe-pane ; kill-window -a -t main:0 ; copy-mode -q -t main:0");
  expect_the_session_works();
}

TEST_P(NarrowSession, TheServerReadsAndWritesNothingOutside) {
  Attacker attacker(socket());
  scratch_.write("home/.profile", "canary-of-the-home\n");
  scratch_.write("planted.conf", "set-option -g @planted yes\n");
  for (const char* file : {"load-buffer -b stolen %/secret", "source-file %/planted.conf",
                           "load-buffer -b stolen %/home/.profile", "save-buffer -b text %/outside.txt",
                           "save-buffer -a -b text %/outside.txt", "save-buffer -b text %/repository/new.txt"}) {
    (void)attacker.ask("set-buffer -b text overwritten");
    std::string command = file;
    command.replace(command.find('%'), 1, scratch_.path(""));
    EXPECT_TRUE(denied(attacker.ask(command))) << command;
  }
  for (const char* own : {"record.jsonl", "home/.gitconfig", "lock"})
    EXPECT_TRUE(denied(attacker.ask("load-buffer -b stolen " + directory_ + "/" + own))) << own;
  EXPECT_EQ(attacker.ask("show-options -g @planted").find("yes"), std::string::npos);
  EXPECT_NE(attacker.ask("show-buffer -b stolen").find("no buffer stolen"), std::string::npos);
  EXPECT_EQ(scratch_.read("outside.txt"), "outside");
  EXPECT_FALSE(scratch_.exists("repository/new.txt"));
  // The same commands on files that it may use: the refusals are the confinement's.
  EXPECT_FALSE(denied(attacker.ask("load-buffer -b read /etc/passwd")));
  EXPECT_NE(attacker.ask("show-buffer -b read").find("root:"), std::string::npos);
  EXPECT_FALSE(denied(attacker.ask("save-buffer -b text " + directory_ + "/tmux/file")));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/tmux/file"));
  expect_the_session_works();
}

// Of /proc/PID/status.
std::string field(int pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":\t", 0) == 0) return line.substr(name.size() + 2);
  }
  return "";
}

TEST_P(NarrowSession, EveryProcessButTheFrontEndIsNarrow) {
  int seen = 0;
  for (const ProcessLine& one : process_tree(run_.pid())) {
    if (one.pid == run_.pid() || one.command.rfind("oncelatch-exec", 0) == 0) continue;
    ++seen;
    EXPECT_EQ(field(one.pid, "NoNewPrivs"), "1") << one.command;
    EXPECT_EQ(field(one.pid, "Seccomp"), "2") << one.command;
    if (one.command.find("tmux.sock") == std::string::npos && one.command.find("relay") == std::string::npos) continue;
    EXPECT_EQ(field(one.pid, "CapPrm"), "0000000000000000") << one.command;
  }
  EXPECT_GE(seen, 5) << "supervisor, tmux, its client, relay, agent";
  expect_the_session_works();
}

INSTANTIATE_TEST_SUITE_P(Users, NarrowSession, ::testing::ValuesIn(users()), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace oncelatch::test
