// Held names: a call waits in the kernel for somebody's answer, which is about this call and this name alone; or all of
// them are refused. What waits holds nobody else up.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "sandbox/held_wire.h"
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

// A sandbox whose questions this test answers.
class Asking {
 public:
  Asking(const Lab& lab, const Words& program, Words options = {"--held", "ask"}) {
    fifo_ = directory_.path() + "/answers";
    EXPECT_EQ(::mkfifo(fifo_.c_str(), 0666), 0);
    EXPECT_EQ(::chmod(fifo_.c_str(), 0666), 0);
    answers_.reset(::open(fifo_.c_str(), O_RDWR | O_CLOEXEC));
    options.insert(options.end(), {"--answers", fifo_});
    Spawn spawn = lab.spawn(options, program);
    int told[2];
    int out[2];
    EXPECT_EQ(::pipe2(told, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    told_.reset(told[0]);
    out_.reset(out[0]);
    const Fd told_end(told[1]);
    const Fd out_end(out[1]);
    spawn.keep[1] = out_end.get();
    spawn.keep[2] = told_end.get();
    Result<Process> started = start(spawn);
    EXPECT_TRUE(started);
    if (started) process_ = std::move(*started);
  }

  // The next of the words that were told, "ask 1 create /…/package.json 0"; empty at the end, or after a while.
  std::string next() {
    for (;;) {
      const std::size_t end = words_.find('\n');
      if (end != std::string::npos) {
        std::string line = words_.substr(0, end);
        words_.erase(0, end + 1);
        return line;
      }
      if (!read_more(told_.get(), words_)) return {};
    }
  }
  // What is asked next.
  std::string question() {
    std::string line = next();
    while (!line.empty() && line.rfind("ask ", 0) != 0) line = next();
    return line;
  }
  void answer(const std::string& question, const char* verdict) {
    const std::size_t start = question.find(' ');
    const std::string line = verdict + question.substr(start, question.find(' ', start + 1) - start) + "\n";
    EXPECT_EQ(::write(answers_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  // The next line of the program's output.
  std::string output() {
    while (printed_.find('\n') == std::string::npos)
      if (!read_more(out_.get(), printed_)) return {};
    std::string line = printed_.substr(0, printed_.find('\n'));
    printed_.erase(0, line.size() + 1);
    return line;
  }
  // To its end: the rest of its output.
  std::string rest() {
    while (read_more(out_.get(), printed_)) {
    }
    EXPECT_TRUE(process_.wait(std::chrono::seconds(20)));
    return printed_;
  }

 private:
  static bool read_more(int fd, std::string& into) {
    pollfd entry{fd, POLLIN, 0};
    char bytes[4096];
    const ssize_t got = ::poll(&entry, 1, 20'000) == 1 ? ::read(fd, bytes, sizeof bytes) : 0;
    if (got > 0) into.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }
  struct Directory {
    Directory() {
      char name[] = "/tmp/oncelatch-held-XXXXXX";
      EXPECT_NE(::mkdtemp(name), nullptr);
      EXPECT_EQ(::chmod(name, 0755), 0);
      place = name;
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() { fs::remove_all(place); }
    [[nodiscard]] const std::string& path() const { return place; }
    std::string place;
  };
  Directory directory_;
  std::string fifo_;
  Fd answers_;
  Fd told_;
  Fd out_;
  Process process_;
  std::string words_;
  std::string printed_;
};

class HeldNamesTest : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
  [[nodiscard]] std::string path(const std::string& name) const { return lab.workspace() + "/" + name; }
  [[nodiscard]] bool exists(const std::string& name) const { return fs::exists(fs::symlink_status(path(name))); }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What is asked comes by stderr, so nothing else may.
  static Words shell(const std::string& script) { return {"/bin/sh", "-c", "exec 2>/dev/null; " + script}; }
  static Words python(const std::string& script) { return {"/usr/bin/python3", "-u", "-c", script}; }
  // "ask TICKET USE NAME 0" without its number.
  [[nodiscard]] std::string use_and_name(const std::string& question) const {
    const std::string ticketless = question.substr(std::min(question.find(' ', 4), question.size()));
    const std::size_t place = ticketless.find(lab.workspace() + "/");
    return place == std::string::npos
               ? question
               : ticketless.substr(1, place - 1) + ticketless.substr(place + lab.workspace().size() + 1);
  }
  Lab lab{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Launches, HeldNamesTest, testing::ValuesIn(possible_launches()), launch_name);

// E043, E045: one answer lets one call through; the next asks again, and what is refused changes nothing.
TEST_P(HeldNamesTest, EachCallIsAskedAbout) {
  lab.make_directory(".github");
  lab.write("package.json", "old\n");
  Asking asking(lab, shell("mkdir -p .github/workflows && echo one > .github/workflows/ci.yml && echo made; "
                           "echo two > .github/workflows/ci.yml || echo kept; "
                           "echo new > package.json || echo kept; echo more >> package.json && echo more; "
                           "echo free > package.jso && echo free"));
  const std::string first = asking.question();
  EXPECT_EQ(use_and_name(first), "create .github/workflows/ci.yml 0");
  EXPECT_FALSE(exists(".github/workflows/ci.yml"));
  asking.answer(first, "allow");
  EXPECT_EQ(asking.output(), "made");
  EXPECT_EQ(asking.next(), "done 1 create  0");
  const std::string second = asking.question();
  EXPECT_EQ(use_and_name(second), "write .github/workflows/ci.yml 0");
  asking.answer(second, "refuse");
  EXPECT_EQ(asking.output(), "kept");
  EXPECT_EQ(content(".github/workflows/ci.yml"), "one\n");
  asking.answer(asking.question(), "refuse");
  asking.answer(asking.question(), "allow");
  EXPECT_EQ(asking.rest(), "kept\nmore\nfree\n");
  EXPECT_EQ(content("package.json"), "old\nmore\n");
}

// Whatever gives the name: the way that most programs write, by a second file and a rename, too.
TEST_P(HeldNamesTest, EveryWayToTheNameAsks) {
  lab.write("AGENTS.md", "old\n");
  Asking asking(lab, python(R"py(
import os, socket
def attempt(what):
    try: what(); print("done")
    except OSError as e: print(e.errno)
open("temporary", "w").write("x")
attempt(lambda: os.rename("temporary", "package.json"))
attempt(lambda: os.rename("AGENTS.md", "away"))
attempt(lambda: os.link("AGENTS.md", "other"))
attempt(lambda: os.link("temporary", "CLAUDE.md"))
attempt(lambda: os.symlink("temporary", ".npmrc"))
attempt(lambda: os.truncate("AGENTS.md", 0))
attempt(lambda: os.mkdir(".gitmodules"))
attempt(lambda: os.mknod("sub.pth"))
attempt(lambda: socket.socket(socket.AF_UNIX).bind(".npmrc"))
os.makedirs("d/workflows"); open("d/workflows/x.yml", "w").write("x")
attempt(lambda: os.rename("d", ".github"))
attempt(lambda: os.symlink("d", ".circleci"))
os.symlink("package.json", "way"); attempt(lambda: open("way", "w").close())
attempt(lambda: os.rename("gone", "package.json"))
open("/dev/shm/x", "w").close(); attempt(lambda: os.rename("/dev/shm/x", "package.json"))
attempt(lambda: os.rename("AGENTS.md", ".envrc"))
attempt(lambda: os.link("AGENTS.md", ".envrc"))
attempt(lambda: os.close(os.open("AGENTS.md", os.O_CREAT | os.O_EXCL | os.O_WRONLY)))
attempt(lambda: os.close(os.open("AGENTS.md", os.O_RDONLY)))
)py"));
  Words seen;
  for (std::string question; seen.size() < 12;) {
    question = asking.question();
    if (question.empty()) break;
    seen.push_back(use_and_name(question));
    asking.answer(question, "refuse");
  }
  EXPECT_EQ(asking.rest(), "13\n13\n13\n13\n13\n13\n13\n13\n13\n13\n13\n13\n2\n18\n13\n13\n17\ndone\n");
  EXPECT_EQ(seen, (Words{"move package.json 0", "move AGENTS.md 0", "link AGENTS.md 0", "link CLAUDE.md 0",
                         "create .npmrc 0", "write AGENTS.md 0", "create .gitmodules 0", "create sub.pth 0",
                         "create .npmrc 0", "move .github 0", "create .circleci 0", "create package.json 0"}));
  EXPECT_EQ(content("AGENTS.md"), "old\n");
  for (const char* name : {"package.json", "CLAUDE.md", ".npmrc", ".gitmodules", ".github", "away", "other"})
    EXPECT_FALSE(exists(name)) << name;
}

// A rename with two of them asks about both; what is refused by name isn't asked about.
TEST_P(HeldNamesTest, TwoNamesAreTwoQuestions) {
  lab.write("AGENTS.md", "old\n");
  Asking asking(lab, shell("mv AGENTS.md .envrc || echo refused; mv AGENTS.md CLAUDE.md && echo moved; "
                           "mv CLAUDE.md GEMINI.md || echo kept"));
  const std::string first = asking.question();
  EXPECT_EQ(use_and_name(first), "move AGENTS.md 0");
  asking.answer(first, "allow");
  const std::string second = asking.question();
  EXPECT_EQ(use_and_name(second), "move CLAUDE.md 0");
  EXPECT_TRUE(exists("AGENTS.md"));
  asking.answer(second, "allow");
  asking.answer(asking.question(), "allow");
  asking.answer(asking.question(), "refuse");
  EXPECT_EQ(asking.rest(), "refused\nmoved\nkept\n");
  EXPECT_EQ(content("CLAUDE.md"), "old\n");
}

// Time passes while a question waits: an answer is never used for another place.
TEST_P(HeldNamesTest, AnAnswerIsAboutTheNameThatWasAsked) {
  for (const char* name : {"a", "b", "b/.github", "b/.github/workflows"}) lab.make_directory(name);
  Asking asking(lab, python(R"py(
import ctypes, os, threading, time
name = ctypes.create_string_buffer(b"here/package.json", 64)
libc = ctypes.CDLL(None, use_errno=True)
os.symlink("a", "here"); rounds = 0
for target in ("b", "b/.github/workflows"):
    result = []
    def write():
        fd = libc.open(name, os.O_CREAT | os.O_WRONLY, 0o644); result.append(fd if fd < 0 else 0); result.append(ctypes.get_errno())
    one = threading.Thread(target=write); one.start()
    while not os.path.exists(f"go{rounds}"): time.sleep(0.01)
    os.unlink("here"); os.symlink(target, "here")
    if target != "b": name.value = b"here/x.yml"
    os.mkdir(f"went{rounds}"); rounds += 1; one.join(); print(result)
    os.unlink("here"); os.symlink("a", "here")
)py"));
  for (int round = 0; round < 2; ++round) {
    const std::string question = asking.question();
    EXPECT_EQ(use_and_name(question), "create a/package.json 0");
    lab.write("go" + std::to_string(round), "");
    for (int i = 0; i < 20'000 && !exists("went" + std::to_string(round)); ++i) ::usleep(1000);
    ASSERT_TRUE(exists("went" + std::to_string(round)));
    asking.answer(question, "allow");
    EXPECT_EQ(asking.output(), "[-1, 13]");
  }
  asking.rest();
  for (const char* name : {"a/package.json", "b/package.json", "b/.github/workflows/x.yml"}) EXPECT_FALSE(exists(name));
}

// More than the table holds are refused; those that wait are all answered, and everything else goes on meanwhile.
TEST_P(HeldNamesTest, AHundredWait) {
  Asking asking(lab, python(R"py(
import os, threading, time
results = []
def write(i):
    try: os.close(os.open(f"{i}.pth", os.O_CREAT | os.O_WRONLY)); results.append(0)
    except OSError as e: results.append(e.errno)
threads = [threading.Thread(target=write, args=(i,)) for i in range(100)]
for one in threads: one.start()
while len(results) < 36: time.sleep(0.01)
for i in range(2000): os.close(os.open(f"f{i}", os.O_CREAT | os.O_WRONLY))
print("worked")
for one in threads: one.join()
print(sorted(results) == [0] * 32 + [13] * 68)
)py"));
  Words questions;
  while (questions.size() < kMostQuestions) questions.push_back(asking.question());
  EXPECT_EQ(asking.output(), "worked");
  EXPECT_EQ(std::set<std::string>(questions.begin(), questions.end()).size(), kMostQuestions);
  for (std::size_t i = 0; i < questions.size(); ++i) asking.answer(questions[i], i % 2 == 0 ? "allow" : "refuse");
  EXPECT_EQ(asking.rest(), "True\n");
}

// Who reads is busy while many ask and end: every question that was told of gets its end, once there is room.
TEST_P(HeldNamesTest, EveryQuestionHasAnEnd) {
  Asking asking(lab, python(R"py(
import os, signal, time
name = "x" * 200 + ".pth"
for round in range(40):
    callers = []
    for i in range(50):
        caller = os.fork()
        if caller == 0:
            try: os.open(f"{round}.{i}.{name}", os.O_CREAT | os.O_WRONLY)
            except OSError: pass
            os._exit(0)
        callers.append(caller)
    time.sleep(0.02)
    for caller in callers: os.kill(caller, signal.SIGKILL)
    for caller in callers: os.waitpid(caller, 0)
print("flooded")
while True:
    try: os.open("last.pth", os.O_CREAT | os.O_WRONLY); break
    except OSError: time.sleep(0.05)
time.sleep(0.3)
)py"));
  EXPECT_EQ(asking.output(), "flooded");
  std::map<std::string, std::string> open;  // by ticket
  std::size_t asked = 0;
  for (std::string line = asking.next(); !line.empty(); line = asking.next()) {
    const std::size_t start = line.find(' ') + 1;
    const std::string ticket = line.substr(start, line.find(' ', start) - start);
    if (line.rfind("ask ", 0) == 0) {
      ++asked;
      open[ticket] = line;
    } else {
      open.erase(ticket);
    }
    if (line.rfind("ask ", 0) == 0 && line.find("/last.pth") != std::string::npos) asking.answer(line, "allow");
  }
  EXPECT_GT(asked, 200U);
  EXPECT_TRUE(open.empty()) << open.size() << " of " << asked << ", " << open.begin()->second;
  asking.rest();
}

// A caller that was killed takes its question back; a handler runs, and the call is made again under the same question.
TEST_P(HeldNamesTest, SignalsReachWhoWaits) {
  Asking asking(lab, python(R"py(
import os, signal, time
def child(what):
    pid = os.fork()
    if pid == 0: what(); os._exit(0)
    return pid
def killed(): os.open("a.pth", os.O_CREAT | os.O_WRONLY)
def handled():
    signal.signal(signal.SIGUSR1, lambda *_: print("handler"))
    os.close(os.open("b.pth", os.O_CREAT | os.O_WRONLY)); print("opened")
for what in (killed, handled):
    pid = child(what)
    while not os.path.exists("go-" + what.__name__): time.sleep(0.01)
    os.kill(pid, signal.SIGKILL if what is killed else signal.SIGUSR1)
    if what is killed: print(os.waitpid(pid, 0)[1])
print(os.waitpid(pid, 0)[1])
)py"));
  EXPECT_EQ(use_and_name(asking.question()), "create a.pth 0");
  lab.write("go-killed", "");
  EXPECT_EQ(asking.output(), "9");
  EXPECT_EQ(asking.next(), "withdrawn 1 create  0");
  const std::string question = asking.question();
  lab.write("go-handled", "");
  EXPECT_EQ(asking.output(), "handler");
  asking.answer(question, "allow");
  EXPECT_EQ(asking.output(), "opened");
  EXPECT_EQ(asking.rest(), "0\n");
  EXPECT_EQ(asking.next(), "done 2 create  0");
  EXPECT_FALSE(exists("a.pth"));
}

// Nobody is asked: all are refused and told, and where a profile is strict what builds write as well.
TEST_P(HeldNamesTest, AllAreRefused) {
  const Words tries = shell("for f in package.json .npmrc Makefile notes; do echo x > $f && echo $f; done");
  Asking names(lab, tries, {"--held", "refuse"});
  EXPECT_EQ(names.rest(), "Makefile\nnotes\n");
  std::set<std::string> told;
  std::string all;
  for (std::string line = names.next(); !line.empty(); line = names.next()) {
    all += line + "\n";
    if (line.rfind("refused ", 0) == 0) told.insert(line);
  }
  EXPECT_EQ(told, (std::set<std::string>{"refused 0 create " + path("package.json") + " 0",
                                         "refused 0 create " + path(".npmrc") + " 0"}))
      << all;
  fs::remove(path("Makefile"));
  Asking strict(lab, tries, {"--held", "refuse", "--hold-builds"});
  EXPECT_EQ(strict.rest(), "notes\n");
  EXPECT_FALSE(exists("Makefile"));
}

// A name that is longer than a path may be can't be asked about.
TEST_P(HeldNamesTest, ANameThatIsTooLongIsRefused) {
  Asking asking(lab, python(R"py(
import os
made = 0
def enter(name):
    os.mkdir(name); os.chdir(name)
while len(os.getcwd()) < 3700: enter("d" * 200)
enter("e" * (4090 - len(os.getcwd()) - 1))
for name in ("package.json", "sub.pth", "x" * 250 + ".pth"):
    try: os.close(os.open(name, os.O_CREAT | os.O_WRONLY)); print("made")
    except OSError as e: print(e.errno)
open("package.jso", "w").close(); os.chdir(".."); print(os.path.exists("."))
)py"));
  EXPECT_EQ(asking.rest(), "13\n13\n13\nTrue\n");
  EXPECT_EQ(asking.question(), "");
}

// A branch may have any name, and what a package manager installs is code whatever its name; moved elsewhere it is
// asked about.
TEST_P(HeldNamesTest, BranchesAndInstalledPackagesAreFree) {
  lab.make_repository();
  Asking asking(lab,
                shell("mkdir -p node_modules/x; echo x > node_modules/x/package.json && echo made; "
                      "mv node_modules/x y || echo kept; mv node_modules/x/package.json . || echo kept; "
                      "mv node_modules other || echo kept; git commit -q --allow-empty -m x; git branch Jenkinsfile && "
                      "echo branched; "
                      "mkdir .git/x; echo x > .git/x/AGENTS.md; mv .git/x z || echo kept; echo x > node_modules/.envrc "
                      "|| echo refused"),
                {"--held", "refuse"});
  EXPECT_EQ(asking.rest(), "made\nkept\nkept\nkept\nbranched\nkept\nrefused\n");
}

// The program never has an end of the channel, and can't take the broker's.
TEST_P(HeldNamesTest, TheChannelIsOutOfReach) {
  Asking asking(lab, python(R"py(
import ctypes, os
print(sorted(int(f) for f in os.listdir("/proc/self/fd"))[:4])
try: print(os.readlink("/proc/1/fd/8"))
except OSError as e: print(e.errno)
libc = ctypes.CDLL(None, use_errno=True)
pidfd = libc.syscall(434, 1, 0)
print(libc.syscall(438, pidfd, 8, 0) < 0)
)py"));
  EXPECT_EQ(asking.rest(), "[0, 1, 2, 3]\n13\nTrue\n");
}

}  // namespace
}  // namespace oncelatch::sandbox
