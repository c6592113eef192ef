// `oncelatch exec` as a job of a person's shell, and the shell as its command: stopped, continued, in the background.
#include <signal.h>

#include <thread>

#include "tests/launcher/exec_support.h"
#include "tests/launcher/terminal.h"

namespace oncelatch::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

class ExecJobs : public Exec {
 protected:
  // A shell of the person's, with a prompt, to type commands of `line()` into.
  [[nodiscard]] Terminal shell_on_terminal() const {
    Spawn spawn = scratch.spawn({});
    spawn.argv = {"/bin/bash", "--norc", "--noprofile", "-i"};
    spawn.path = "/bin/bash";
    Terminal terminal(spawn);
    terminal.type("PS1='rea''dy> '; set -m\r");
    EXPECT_TRUE(terminal.shows("ready> ")) << terminal.screen();
    return terminal;
  }
  [[nodiscard]] std::string line(const Words& options, const Words& command) const {
    return shell_words(scratch.spawn(all(options, command)));
  }
  // As it is typed on a machine without user namespaces.
  [[nodiscard]] std::string lower_line(const Words& command) const {
    std::string front;
    for (const std::string& word : kWithoutNamespaces) front += word + " ";
    return front + line(kLowerTierLosses, command);
  }
  static void leave(Terminal& terminal) {
    terminal.type("exit 0\r");
    EXPECT_EQ(terminal.wait(), 0) << terminal.screen();
  }
};

TEST_P(ExecJobs, OfAShellInside) {
  Terminal terminal(scratch.spawn(all({}, {"bash", "--norc", "--noprofile", "-i"})));
  terminal.type("PS1='ready> '; tty; stty size\r");
  ASSERT_TRUE(terminal.shows("/dev/")) << terminal.screen();
  EXPECT_TRUE(terminal.shows("30 110")) << terminal.screen();
  EXPECT_FALSE(terminal.is_as_before()) << "raw while it runs";
  terminal.type("sleep 100\r");
  ASSERT_TRUE(eventually([&] {
    std::vector<ProcessLine> tree = process_tree(terminal.process().pid());
    return std::any_of(tree.begin(), tree.end(), [](const ProcessLine& one) { return one.command == "sleep 100 "; });
  }));
  terminal.type("\x1a");
  EXPECT_TRUE(terminal.shows("Stopped")) << terminal.screen();
  terminal.type("fg\r");
  EXPECT_TRUE(terminal.shows("sleep 100")) << terminal.screen();
  ::usleep(200'000);
  terminal.type("\x03");
  EXPECT_TRUE(terminal.shows("ready> ")) << terminal.screen();
  terminal.resize(40, 120);
  terminal.type("echo code $?; sleep 0.2; stty size\r");
  EXPECT_TRUE(terminal.shows("code 130")) << terminal.screen();
  EXPECT_TRUE(terminal.shows("40 120")) << terminal.screen();
  terminal.type("exit 5\r");
  EXPECT_EQ(terminal.wait(), 5) << terminal.screen();
  EXPECT_TRUE(terminal.is_as_before());
}

// In the background it runs, keeps its deadline and leaves the terminal to the shell; in the foreground it has it.
TEST_P(ExecJobs, InTheBackground) {
  Terminal terminal = shell_on_terminal();
  terminal.type(line({"--time", "3"}, {"sh", "-c", "echo up; sleep 77"}) + " & sleep 1; jobs; echo typ''ed\r");
  ASSERT_TRUE(terminal.shows("Running")) << terminal.screen();
  ASSERT_TRUE(terminal.shows("typed")) << terminal.screen();
  terminal.type("wait %1; echo code $?\r");
  EXPECT_TRUE(terminal.shows("time limit")) << terminal.screen();
  EXPECT_TRUE(terminal.shows("code 124")) << terminal.screen();
  leave(terminal);
}

TEST_P(ExecJobs, FromTheBackgroundToTheForeground) {
  Terminal terminal = shell_on_terminal();
  terminal.type(line({}, {"bash", "-c", "sleep 1; read -rsn1 key; echo key $key"}) + " & sleep 2; jobs\r");
  ASSERT_TRUE(terminal.shows("Running")) << terminal.screen();
  terminal.type("fg\r");
  ASSERT_TRUE(terminal.shows("fg")) << terminal.screen();
  std::this_thread::sleep_for(milliseconds(600));
  terminal.type("x");
  EXPECT_TRUE(terminal.shows("key x")) << terminal.screen();
  leave(terminal);
}

// A command that is no shell: Ctrl-Z stops it, and the launcher with the terminal as it was; fg and bg go on.
TEST_P(ExecJobs, CtrlZStopsACommandAlone) {
  const Words command = {"sh", "-c", "echo be\"\"gun; read -r line; echo got $line; sleep 0.3; echo en\"\"ded; exit 7"};
  Terminal terminal = shell_on_terminal();
  int round = 0;
  for (const std::string& typed : {line({}, command), line({}, command), lower_line(command)}) {
    const std::string word = "word" + std::to_string(++round);
    terminal.type(typed + "\r");
    ASSERT_TRUE(terminal.shows("begun")) << terminal.screen();
    terminal.type("\x1a");
    ASSERT_TRUE(terminal.shows("Stopped")) << terminal.screen();
    terminal.type("stty -a | grep -c ' icanon'; echo mo''de\r");
    ASSERT_TRUE(terminal.shows("1\r\nmode")) << terminal.screen();
    terminal.type("fg\r");
    ASSERT_TRUE(terminal.shows("read -r line")) << terminal.screen();
    std::this_thread::sleep_for(milliseconds(300));
    terminal.type("\x1a");  // and once more
    ASSERT_TRUE(terminal.shows("Stopped")) << terminal.screen();
    terminal.type("fg\r");
    std::this_thread::sleep_for(milliseconds(300));
    terminal.type(word + "\r");
    ASSERT_TRUE(terminal.shows("got " + word)) << terminal.screen();
    ASSERT_TRUE(terminal.shows("ended")) << terminal.screen();
    terminal.type("echo co''de $?\r");
    ASSERT_TRUE(terminal.shows("code 7")) << terminal.screen();
  }
  leave(terminal);
}

// The terminal's driver stops the launcher's process group, in which the command isn't.
TEST_P(ExecJobs, CtrlZStopsWhatStandsInAPipeline) {
  const std::string script = "n=0; while :; do n=$((n+1)); echo $n > count; sleep 0.05; done";
  Terminal terminal = shell_on_terminal();
  for (const std::string& typed :
       {line({}, {"sh", "-c", script}) + " | cat", line({}, {"sh", "-c", script}) + " </dev/null 2>&1 | cat",
        lower_line({"sh", "-c", script}) + " | cat"}) {
    SCOPED_TRACE(typed);
    ::unlink(path("repository/count").c_str());
    terminal.type(typed + "\r");
    ASSERT_TRUE(eventually([&] { return !scratch.read("repository/count").empty(); })) << terminal.screen();
    terminal.type("\x1a");
    ASSERT_TRUE(terminal.shows("Stopped")) << terminal.screen();
    EXPECT_TRUE(eventually([&] {
      const std::string before = scratch.read("repository/count");
      ::usleep(300'000);
      return scratch.read("repository/count") == before;
    })) << "it goes on";
    const std::string before = scratch.read("repository/count");
    terminal.type("bg\r");
    EXPECT_TRUE(eventually([&] { return scratch.read("repository/count") != before; })) << terminal.screen();
    terminal.type("kill %1; wait %1; echo le''ft\r");
    ASSERT_TRUE(terminal.shows("left")) << terminal.screen();
  }
  leave(terminal);
}

// What isn't at a terminal and stops itself keeps neither the launcher nor its deadline.
TEST_P(ExecJobs, ACommandThatStopsItselfMissesNoDeadline) {
  Output output = shell("kill -STOP $$; echo on", {"--time", "1"});
  EXPECT_EQ(output.status.shell_code(), 124) << output.err;
  EXPECT_THAT(output.out, Not(HasSubstr("on")));
}
EXEC_USERS(ExecJobs);

}  // namespace
}  // namespace oncelatch::test
