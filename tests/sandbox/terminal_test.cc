// The program in a session of its own on the inner terminal.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class Terminal : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Terminal, testing::ValuesIn(possible_launches()), launch_name);

struct OnTerminal {
  Fd master;
  Process runner;
  std::string seen;

  // Reads until the text has come, at most 20 s.
  bool wait_for(const std::string& text) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (seen.find(text) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
      pollfd entry{master.get(), POLLIN, 0};
      if (::poll(&entry, 1, 100) <= 0) continue;
      char buffer[4096];
      ssize_t got = ::read(master.get(), buffer, sizeof buffer);
      if (got <= 0) break;
      seen.append(buffer, static_cast<std::size_t>(got));
    }
    bool found = seen.find(text) != std::string::npos;
    EXPECT_TRUE(found) << "no \"" << text << "\" in: " << seen;
    if (found) seen.erase(0, seen.find(text) + text.size());
    return found;
  }
  void type(const std::string& text) {
    EXPECT_EQ(::write(master.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  int finish() {
    Result<ExitStatus> status = runner.wait(std::chrono::seconds(20));
    return status ? status->shell_code() : -1;
  }
};

OnTerminal start_on_terminal(const Lab& lab, const std::vector<std::string>& program) {
  int master = -1;
  int slave = -1;
  EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  ::fchmod(slave, 0600);
  if (::geteuid() == 0) {
    EXPECT_EQ(::fchown(slave, lab.uid(), lab.uid()), 0);
  }
  Spawn spawn = lab.spawn({"--terminal"}, program);
  for (int number : {0, 1, 2}) spawn.keep[number] = slave;
  Result<Process> runner = start(spawn);
  EXPECT_TRUE(runner);
  ::close(slave);
  return {Fd(master), std::move(*runner), {}};
}

TEST_P(Terminal, JobControl) {
  Lab lab(GetParam());
  OnTerminal session = start_on_terminal(lab, {"/bin/sh", "-i"});
  session.type("PS1='$ '; echo st''art\r");
  session.wait_for("start");
  EXPECT_EQ(session.seen.find("job control turned off"), std::string::npos);
  session.type("sleep 300 & echo bg=$?\r");
  session.wait_for("bg=0");
  session.type("jobs\r");
  session.wait_for("Running");
  session.type("kill %1; echo mid''dle\r");
  session.wait_for("middle");
  session.wait_for("$ ");
  session.type("cat\r");
  session.type("ping\r");
  session.wait_for("ping");  // the terminal's echo
  session.wait_for("ping");  // cat's
  session.type("\x03");      // Ctrl-C ends cat, not the shell
  session.wait_for("$ ");
  session.type("echo af''ter\r");
  session.wait_for("after");
  session.type("exit 5\r");
  EXPECT_EQ(session.finish(), 5) << session.seen;
}

TEST_P(Terminal, HasANameAndIsTheControllingOne) {
  Lab lab(GetParam());
  OnTerminal session = start_on_terminal(
      lab,
      {"/bin/sh", "-c",
       "tty; echo direct > /dev/tty; echo again > /dev/stderr; stty size; ps -o tty= -p $$ | grep -c . ; echo end"});
  session.wait_for("/dev/");
  session.wait_for("direct");
  session.wait_for("again");
  session.wait_for("end");
  EXPECT_EQ(session.finish(), 0);
}

// E072 E074: nothing can be typed into the terminal, none of the host's can be opened.
TEST_P(Terminal, NothingIsTypedFromInside) {
  Lab lab(GetParam());
  OnTerminal session =
      start_on_terminal(lab, {lab.probe(), "tiocsti", "tiocsti-high=32", "tioclinux", "tiocsetd", "list=/dev/pts",
                              "append=/dev/pts/0", "append=/dev/tty0", "append=/dev/tty"});
  session.wait_for("tiocsti EPERM");
  session.wait_for("tiocsti-high=32 EPERM");
  session.wait_for("tioclinux EPERM");
  session.wait_for("tiocsetd EPERM");
  session.wait_for("list=/dev/pts OK");  // ptmx alone
  session.wait_for("append=/dev/pts/0 ENOENT");
  session.wait_for("append=/dev/tty0 ENOENT");
  session.wait_for("append=/dev/tty OK");
  EXPECT_EQ(session.finish(), 0);
}

TEST_P(Terminal, PrivatePseudoTerminals) {
  if (::access("/usr/bin/python3", X_OK) != 0) SKIP_OR_FAIL("no python3 here");
  Lab lab(GetParam());
  Seen seen = lab.run({"/usr/bin/python3", "-c",
                       "import os, pty\n"
                       "m, s = pty.openpty()\n"
                       "print(os.ttyname(s), os.isatty(s))\n"
                       "made = [(m, s)]\n"
                       "try:\n"
                       "    while True: made.append(pty.openpty())\n"
                       "except OSError: print(len(made))\n"});
  EXPECT_EQ(seen.out, "/dev/pts/0 True\n256\n") << seen.err;  // the machine's number is shared by all sandboxes
}

}  // namespace
}  // namespace oncelatch::sandbox
