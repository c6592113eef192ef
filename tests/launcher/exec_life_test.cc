// `oncelatch exec` on a terminal, and its end: signals, a killed launcher, what is left behind.
#include <fcntl.h>
#include <signal.h>

#include "tests/launcher/exec_support.h"
#include "tests/launcher/terminal.h"

namespace oncelatch::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ExecTerminal : public Exec {
 protected:
  [[nodiscard]] Terminal open(const Words& command, std::map<int, int> streams = {}) const {
    return Terminal(scratch.spawn(all({}, command)), std::move(streams));
  }
};

TEST_P(ExecTerminal, OnlyTheInputIsOne) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd out(ends[0]);
  Fd inside(ends[1]);
  Terminal terminal =
      open({"sh", "-c", "test -t 0 && test ! -t 1 && test -t 2 && echo yes; read x; echo got $x; echo e >&2"},
           {{1, inside.get()}});
  inside.reset();
  terminal.type("word\r");
  EXPECT_EQ(terminal.wait(), 0);
  char text[64] = {};
  EXPECT_GT(::read(out.get(), text, sizeof text - 1), 0);
  EXPECT_THAT(std::string(text), HasSubstr("yes\n"));
  EXPECT_THAT(terminal.screen(), AllOf(HasSubstr("e\r\n"), Not(HasSubstr("got"))));
  EXPECT_TRUE(terminal.is_as_before());
}

// A pager behind it has the keyboard alone once it takes the terminal, and finds its mode as it left it.
TEST_P(ExecTerminal, APagerBehindItHasTheKeyboard) {
  Spawn spawn = scratch.spawn(all({}, {"sh", "-c", "seq 300; sleep 2"}));
  const std::string command = shell_words(spawn);
  spawn.path = "/bin/sh";
  spawn.argv = {"sh", "-c", command + " | LESS= less; echo left; stty -a | grep -o ' icanon'"};
  Terminal terminal(spawn);
  ASSERT_TRUE(terminal.shows("28")) << terminal.screen();
  terminal.type("/100\r");
  ASSERT_TRUE(terminal.shows("100")) << terminal.screen();
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("\n1\n2\n"))) << "a staircase";
  terminal.type("q");
  EXPECT_TRUE(terminal.shows("left")) << terminal.screen();
  EXPECT_TRUE(terminal.shows(" icanon")) << terminal.screen();
  EXPECT_EQ(terminal.wait(), 0) << terminal.screen();
}

// The terminal is where the output goes, and nobody types.
TEST_P(ExecTerminal, TheInputIsNullOrClosed) {
  for (const char* input : {" </dev/null", " <&-"}) {
    Spawn spawn = scratch.spawn({});
    const std::string script = "read x || tty <&1; test -t 1 && echo out";
    spawn.argv = {"sh", "-c", shell_words(scratch.spawn(all({}, {"sh", "-c", script}))) + input};
    spawn.path = "/bin/sh";
    Terminal terminal(spawn);
    EXPECT_EQ(terminal.wait(), 0) << terminal.screen();
    EXPECT_THAT(terminal.screen(), AllOf(HasSubstr("/dev/console"), HasSubstr("out")));
  }
}

// What is said at the end finds the terminal as it was, behind the alternate screen.
TEST_P(ExecTerminal, TheTimeLimitIsToldOnTheScreenThatStays) {
  Terminal terminal(scratch.spawn(all({"--time", "1"}, {"sh", "-c", "printf '\\033[?1049h'; sleep 50"})));
  ASSERT_TRUE(terminal.shows("\x1b[?1049l")) << terminal.screen();
  EXPECT_TRUE(terminal.shows("time limit: 1 s are over; the command was ended\r\n")) << terminal.screen();
  EXPECT_EQ(terminal.wait(), 124);
}

constexpr const char* kUntidy =
    "printf '\\033[?1049h\\033[?25l\\033[?2004h\\033[?1000hready'; stty raw -echo; exec sleep 100";

TEST_P(ExecTerminal, IsGivenBackWhateverEndsIt) {
  for (int number : {0, SIGTERM, SIGKILL}) {
    SCOPED_TRACE(number);
    std::string script = kUntidy;
    if (number == 0) script.replace(script.find("exec sleep 100"), 14, "exit 0");
    Terminal terminal = open({"sh", "-c", script});
    ASSERT_TRUE(terminal.shows("ready")) << terminal.screen();
    if (number != 0) {
      EXPECT_FALSE(terminal.is_as_before());
      ASSERT_TRUE(terminal.process().signal(number));
    }
    EXPECT_EQ(terminal.wait(), number == 0 ? 0 : 128 + number);
    EXPECT_TRUE(eventually([&] { return terminal.is_as_before(); }));
    for (const char* reset : {"\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l", "\x1b[?1000l"}) {
      EXPECT_THAT(terminal.screen().find("ready"), testing::Ne(std::string::npos));
      if (terminal.screen().find(reset) == std::string::npos) {
        EXPECT_TRUE(terminal.shows(reset)) << ::testing::PrintToString(terminal.screen());
      }
    }
  }
}

TEST_P(ExecTerminal, NothingIsAskedOfItAndNothingTakenFromIt) {
  Terminal terminal = open({"sh", "-c",
                            "printf '\\033]52;c;aGk=\\007\\033[c\\033[6n\\033]11;?\\007\\033P$q\"p\\033\\\\\\033[21t"
                            "\\033[31mred\\033[0m done\\n'; read -t 1 answer 2>/dev/null; echo end"});
  terminal.type("\r");
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_THAT(terminal.screen(), AllOf(HasSubstr("\x1b[31mred"), HasSubstr("done"), HasSubstr("end"),
                                       Not(HasSubstr("]52")), Not(HasSubstr("\x1b[c")), Not(HasSubstr("[6n")),
                                       Not(HasSubstr("]11")), Not(HasSubstr("$q")), Not(HasSubstr("[21t"))));
}
EXEC_USERS(ExecTerminal);

class ExecLife : public Exec {
 protected:
  // A program with children that stay: one that left the session and ignores what it can, a stopped one, one in the
  // workspace. All carry the scratch directory's name in their environment.
  [[nodiscard]] Words stubborn(const std::string& ending) const {
    return all({"--env", "MARK=" + path("mark")},
               {"bash", "-c",
                "(setsid bash -c \"trap '' HUP TERM INT; (while :; do sleep 1; done) & echo > far; wait\" &) ; "
                "sleep 1000 & kill -STOP $!; (cd .git 2>/dev/null; exec sleep 1001) & "
                "while [ ! -e far ]; do sleep 0.02; done; echo > ready; " +
                    ending});
  }
  // Only what runs inside: the launcher's own processes are named by their arguments.
  [[nodiscard]] bool is_ready() const { return scratch.exists("repository/ready"); }
  milliseconds time_until_gone() const {
    auto start = steady_clock::now();
    bool gone = eventually([&] { return scratch.processes_left().empty(); }, milliseconds(6000));
    EXPECT_TRUE(gone) << ::testing::PrintToString(scratch.processes_left());
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
  }
};

TEST_P(ExecLife, SignalsReachTheProgram) {
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    SCOPED_TRACE(number);
    ::unlink(path("repository/ready").c_str());
    Process process = scratch.start(all(
        {},
        {"bash", "-c", "trap 'exit 7' " + std::to_string(number) + "; echo > ready; while :; do sleep 0.05; done"}));
    ASSERT_TRUE(eventually([&] { return is_ready(); }));
    ASSERT_TRUE(process.signal(number));
    Result<ExitStatus> status = process.wait(std::chrono::seconds(10));
    ASSERT_TRUE(status);
    EXPECT_EQ(status->shell_code(), 7);
  }
}

// B043, E047
TEST_P(ExecLife, B043NothingOutlivesANormalEndOrATerm) {
  Output ended = scratch.oncelatch(stubborn("exit 3"));
  EXPECT_EQ(ended.status.shell_code(), 3) << ended.err;
  EXPECT_LT(time_until_gone(), milliseconds(1000));
  ::unlink(path("repository/ready").c_str());
  ::unlink(path("repository/far").c_str());
  Process process = scratch.start(stubborn("trap '' TERM; while :; do sleep 1; done"));
  ASSERT_TRUE(eventually([&] { return is_ready(); }));
  EXPECT_GE(scratch.processes_left().size(), 5U);
  ASSERT_TRUE(process.signal(SIGTERM));
  Result<ExitStatus> status = process.wait(std::chrono::seconds(10));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->shell_code(), 137) << "it didn't listen";
  EXPECT_LT(time_until_gone(), milliseconds(1000));
}

// B043
TEST_P(ExecLife, B043NothingOutlivesAKilledLauncher) {
  Process process = scratch.start(stubborn("while :; do sleep 1; done"));
  ASSERT_TRUE(eventually([&] { return is_ready(); }));
  ASSERT_TRUE(process.signal(SIGKILL));
  milliseconds took = time_until_gone();
  std::printf("gone %ld ms after the kill\n", static_cast<long>(took.count()));
  EXPECT_LT(took, milliseconds(1000));
}

// B043
TEST_P(ExecLife, B043NothingOutlivesAClosedTerminal) {
  Terminal terminal(scratch.spawn(stubborn("while :; do sleep 1; done")), {});
  ASSERT_TRUE(eventually([&] { return is_ready(); }));
  terminal.close();
  EXPECT_TRUE(terminal.process().wait(std::chrono::seconds(10)));
  EXPECT_LT(time_until_gone(), milliseconds(1000));
}

// Directories of the system in which `name` would be, by their paths.
std::vector<std::string> groups_with(const std::string& name) {
  std::vector<std::string> found;
  std::error_code error;
  auto options = std::filesystem::directory_options::skip_permission_denied;
  std::filesystem::recursive_directory_iterator at("/sys/fs/cgroup", options, error);
  for (; at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    if (error) break;
    if (at->is_directory(error) && at->path().filename().string().find(name) != std::string::npos)
      found.push_back(at->path());
  }
  return found;
}

// B043
TEST_P(ExecLife, B043AKilledLauncherLeavesNoGroupNorFile) {
  auto files = [&] {
    std::vector<std::string> all;
    std::error_code error;
    for (const char* place : {"/dev/shm", "/run", "/tmp", "/var/tmp"})
      for (const auto& entry : std::filesystem::directory_iterator(place, error)) {
        struct stat info {};
        bool ours = ::lstat(entry.path().c_str(), &info) == 0 && info.st_uid == GetParam();
        if (ours && entry.path().filename().string().starts_with("oncelatch-") &&
            entry.path() != scratch.path("").substr(0, scratch.path("").size() - 1))
          all.push_back(entry.path());
      }
    return std::set<std::string>(all.begin(), all.end());
  };
  std::set<std::string> before = files();
  Words words = stubborn("while :; do sleep 1; done");
  words.insert(words.begin() + 1, {"--limit", "memory=400M"});
  Process process = scratch.start(words);
  ASSERT_TRUE(eventually([&] { return is_ready(); }));
  std::string maker = "-" + std::to_string(process.pid()) + "-";
  ASSERT_TRUE(process.signal(SIGKILL));
  EXPECT_TRUE(process.wait(std::chrono::seconds(10)));  // a zombie keeps its number, and so its groups
  EXPECT_LT(time_until_gone(), milliseconds(1000));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run({"--limit", "memory=400M"}, {"true"}).status.shell_code(), 0);
  EXPECT_THAT(groups_with(maker), IsEmpty());
  EXPECT_TRUE(eventually(
      [&] {
        std::set<std::string> now = files();
        return std::all_of(now.begin(), now.end(), [&](const std::string& one) {
          return before.count(one) != 0 || ::access(one.c_str(), F_OK) != 0;
        });
      },
      milliseconds(20000)))
      << ::testing::PrintToString(files());
  EXPECT_THAT(scratch.session_directories(), IsEmpty());
}

// The kernel counts descriptors in flight for a user: what a session keeps there must not hold up the next launch.
TEST_P(ExecLife, ASessionCantKeepTheNextOneFromStarting) {
  const std::string hoard = R"sh(
python3 -c '
import array, socket
kept = []
count = 0
try:
    while count < 20000:
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        kept.append(pair)
        pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 250))])
        count += 250
except OSError:
    pass
print("full", count > 900, flush=True)
input()'
)sh";
  Spawn spawn = scratch.spawn(all({}, {"sh", "-c", hoard}));
  int in[2];
  int out[2];
  ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
  Fd input(in[0]);
  Fd input_end(in[1]);
  Fd output(out[0]);
  Fd output_end(out[1]);
  spawn.keep = {{0, input.get()}, {1, output_end.get()}};
  Result<Process> hoarder = oncelatch::start(spawn);
  ASSERT_TRUE(hoarder);
  output_end.reset();
  char text[64] = {};
  ASSERT_GT(::read(output.get(), text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "full True\n");
  Output next =
      scratch.oncelatch_behind({"/bin/sh", "-c", "ulimit -S -n 256; exec \"$@\"", "sh"}, all({}, {"echo", "started"}));
  EXPECT_EQ(next.out, "started\n") << next.err;
  input_end.reset();
  EXPECT_TRUE(hoarder->wait(std::chrono::seconds(20)));
}
EXEC_USERS(ExecLife);

}  // namespace
}  // namespace oncelatch::test
