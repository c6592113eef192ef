// Exit codes, signals, and that nothing survives.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBound{1000};  // the aim is 100 ms; the machine may be busy

class Life : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Life, testing::ValuesIn(possible_launches()), launch_name);

// Processes on the host whose command line holds the word.
std::vector<pid_t> processes_with(const std::string& word) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "cmdline");
    std::stringstream text;
    text << file.rdbuf();
    std::string line = text.str();
    if (line.find(word) != std::string::npos && line.find("sandbox_runner") == std::string::npos)
      found.push_back(std::atoi(name.c_str()));
  }
  return found;
}

bool eventually(bool (*true_for)(const std::string&), const std::string& word, milliseconds bound) {
  auto deadline = steady_clock::now() + bound;
  while (steady_clock::now() < deadline) {
    if (true_for(word)) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true_for(word);
}
bool gone(const std::string& word) {
  return processes_with(word).empty();
}
bool running(const std::string& word) {
  return processes_with(word).size() >= 4;
}

// B043: three sleepers of a telling length, one of them stopped, one a daemon (two forks and a session of its own) that
// ignores what it can.
struct Sleepers {
  std::string word;
  std::string script;
};
Sleepers sleepers() {
  static int count = 0;
  std::string seconds = std::to_string(1000000 + ::getpid() * 10 + ++count);
  return {seconds, "sleep " + seconds + " & p=$!; (trap '' TERM HUP INT; setsid sleep " + seconds +
                       " >/dev/null 2>&1 </dev/null &) ; kill -STOP $p; " +
                       "trap '' TERM HUP INT; : > trapped; sleep " + seconds};
}

void report_time(const char* what, steady_clock::time_point since) {
  auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - since);
  std::printf("%s: all gone after %lld ms\n", what, static_cast<long long>(took.count()));
}

TEST_P(Life, ExitCodesPass) {
  Lab lab(GetParam());
  for (int code : {0, 1, 2, 42, 99, 125, 126, 127, 128, 200, 255})
    EXPECT_EQ(lab.run({"/bin/sh", "-c", "exit " + std::to_string(code)}).code, code);
}

TEST_P(Life, SignalsPass) {
  Lab lab(GetParam());
  for (int signal : {SIGHUP, SIGTERM, SIGKILL, SIGSEGV, SIGABRT, SIGPIPE, SIGUSR1})
    EXPECT_EQ(lab.run({"/bin/sh", "-c", "kill -" + std::to_string(signal) + " $$"}).code, 128 + signal);
}

TEST_P(Life, OrphansAreReapedAndDoNotDelayTheEnd) {
  Lab lab(GetParam());
  auto start = steady_clock::now();
  Seen seen = lab.run({"/bin/sh", "-c",
                       "for i in 1 2 3; do (true & true) ; done; (setsid sleep 100 >/dev/null 2>&1 &); "
                       "sleep 0.1; cat /proc/[0-9]*/stat | grep -c ') Z '; test -r /proc/1/stat && exit 3"});
  EXPECT_EQ(seen.code, 3);
  EXPECT_EQ(seen.out, "0\n");
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_P(Life, ClosedLifelineEndsEverything) {
  Lab lab(GetParam());
  Sleepers inside = sleepers();
  auto start = steady_clock::now();
  Seen seen = lab.run({"/bin/sh", "-c", inside.script}, {"--close-lifeline", "500"});
  EXPECT_EQ(seen.code, 137);
  EXPECT_TRUE(gone(inside.word));
  EXPECT_LT(steady_clock::now() - start, milliseconds(4500));  // with the start
}

TEST_P(Life, OrphansAndSignalsInFloodsDoNotDelayTheEnd) {
  Lab lab(GetParam());
  auto start = steady_clock::now();
  Seen seen =
      lab.run({"/bin/sh", "-c", "trap '' USR1; exec " + lab.probe() + " orphan-storm"}, {"--close-lifeline", "700"});
  report_time("closed lifeline in a storm of orphans, 700 ms after the start", start);
  EXPECT_EQ(seen.code, 137);
  EXPECT_LT(steady_clock::now() - start, milliseconds(6000));
}

// As `--announce` tells it; -1 with a failure: nothing was started.
pid_t outer_of(int err) {
  std::string text;
  char byte;
  while (::read(err, &byte, 1) == 1 && byte != '\n') text += byte;
  int outer = -1;
  EXPECT_EQ(std::sscanf(text.c_str(), "outer %d", &outer), 1) << text;
  return outer;
}

// Never everybody's: -1 is no process.
void end(pid_t pid, int signal) {
  ASSERT_GT(pid, 1);
  ::kill(pid, signal);
}

struct Started {
  Process runner;
  Fd err;
  pid_t outer = -1;
};

Started start_sleepers(const Lab& lab, const Sleepers& inside) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Spawn spawn = lab.spawn({"--announce"}, {"/bin/sh", "-c", inside.script});
  spawn.keep[2] = ends[1];
  Result<Process> runner = start(spawn);
  EXPECT_TRUE(runner) << runner.error().message();
  ::close(ends[1]);
  Started started{std::move(*runner), Fd(ends[0]), -1};
  started.outer = outer_of(ends[0]);
  EXPECT_TRUE(eventually(running, inside.word, std::chrono::seconds(20)));
  // The word stands in the shell's own arguments before its trap does.
  const std::string trapped = lab.workspace() + "/trapped";
  for (int i = 0; i < 2000 && ::access(trapped.c_str(), F_OK) != 0; ++i) ::usleep(10'000);
  EXPECT_EQ(::access(trapped.c_str(), F_OK), 0);
  return started;
}

TEST_P(Life, KilledOuterProcessEndsEverything) {
  Lab lab(GetParam());
  Sleepers inside = sleepers();
  Started started = start_sleepers(lab, inside);
  auto since = steady_clock::now();
  end(started.outer, SIGKILL);
  EXPECT_TRUE(eventually(gone, inside.word, kBound));
  report_time("kill -9 of the outer process", since);
  Result<ExitStatus> status = started.runner.wait(kBound);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->shell_code(), 137);
}

// The one child of the outer process, by its number outside.
pid_t first_process_of(pid_t outer) {
  std::string name = std::to_string(outer);
  std::ifstream file("/proc/" + name + "/task/" + name + "/children");
  pid_t child = -1;
  EXPECT_TRUE(file >> child);
  return child;
}

TEST_P(Life, KilledFirstProcessEndsEverything) {
  Lab lab(GetParam());
  Sleepers inside = sleepers();
  Started started = start_sleepers(lab, inside);
  pid_t first = first_process_of(started.outer);
  ASSERT_GT(first, 0);
  auto since = steady_clock::now();
  end(first, SIGKILL);
  EXPECT_TRUE(eventually(gone, inside.word, kBound));
  report_time("kill -9 of the first process inside", since);
  Result<ExitStatus> status = started.runner.wait(kBound);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->shell_code(), 137);
}

// Neither of the two that stay can be made to miss the end by being stopped.
TEST_P(Life, StoppedOnesEndToo) {
  Lab lab(GetParam());
  for (bool first : {false, true}) {
    Sleepers inside = sleepers();
    Started started = start_sleepers(lab, inside);
    pid_t stopped = first ? first_process_of(started.outer) : started.outer;
    ASSERT_GT(stopped, 0);
    end(stopped, SIGSTOP);
    auto since = steady_clock::now();
    EXPECT_TRUE(started.runner.signal(SIGKILL));
    EXPECT_TRUE(eventually(gone, inside.word, kBound));
    report_time(first ? "kill -9 of the launcher, first process stopped" : "kill -9 of the launcher, outer stopped",
                since);
  }
}

TEST_P(Life, NormalEndLeavesNothing) {
  Lab lab(GetParam());
  Sleepers inside = sleepers();
  std::string word = "; sleep " + inside.word;  // the last one, in the foreground
  std::string script = inside.script.substr(0, inside.script.size() - word.size()) + "; exit 5";
  EXPECT_EQ(lab.run({"/bin/sh", "-c", script}).code, 5);
  EXPECT_EQ(::access((lab.workspace() + "/trapped").c_str(), F_OK), 0);
  EXPECT_TRUE(gone(inside.word));
}

TEST_P(Life, KilledLauncherEndsEverything) {
  Lab lab(GetParam());
  Sleepers inside = sleepers();
  Started started = start_sleepers(lab, inside);
  auto since = steady_clock::now();
  EXPECT_TRUE(started.runner.signal(SIGKILL));
  EXPECT_TRUE(eventually(gone, inside.word, kBound));
  report_time("kill -9 of the launcher", since);
}

TEST_P(Life, TermIsHandedOnAndThenForced) {
  Lab lab(GetParam());
  Sleepers inside = sleepers();
  Started started = start_sleepers(lab, inside);  // ignores SIGTERM
  auto since = steady_clock::now();
  end(started.outer, SIGTERM);
  Result<ExitStatus> status = started.runner.wait(std::chrono::seconds(10));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->shell_code(), 137);
  EXPECT_GE(steady_clock::now() - since, milliseconds(1800));
  EXPECT_TRUE(gone(inside.word));
}

// E134: it is woken to answer, and ended where it doesn't.
TEST_P(Life, StoppedProgramEndsOnTerm) {
  Lab lab(GetParam());
  struct Case {
    const char* trap;
    int code;
  };
  for (const Case& each : {Case{"trap 'exit 34' TERM", 34}, Case{"trap '' TERM", 137}, Case{":", 143}}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Fd err(ends[0]);
    Spawn spawn = lab.spawn({"--announce"}, {"/bin/sh", "-c", std::string(each.trap) + "; kill -STOP $$; sleep 1000"});
    spawn.keep[2] = ends[1];
    Result<Process> runner = start(spawn);
    ASSERT_TRUE(runner);
    ::close(ends[1]);
    pid_t outer = outer_of(err.get());
    pid_t first = first_process_of(outer);
    ASSERT_GT(first, 0);
    auto stopped = [](const std::string& pid) {
      std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
      std::string child;
      children >> child;
      std::ifstream stat("/proc/" + child + "/stat");
      std::string text;
      std::getline(stat, text);
      return text.find(") T ") != std::string::npos;
    };
    EXPECT_TRUE(eventually(stopped, std::to_string(first), std::chrono::seconds(20)));
    end(outer, SIGTERM);
    Result<ExitStatus> status = runner->wait(std::chrono::seconds(10));
    ASSERT_TRUE(status) << each.trap;
    EXPECT_EQ(status->shell_code(), each.code) << each.trap;
  }
}

TEST_P(Life, ProgramCanAnswerTerm) {
  Lab lab(GetParam());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Spawn spawn =
      lab.spawn({"--announce"}, {"/bin/sh", "-c", "trap 'exit 33' TERM; : > ready; while :; do sleep 0.05; done"});
  spawn.keep[2] = ends[1];
  Result<Process> runner = start(spawn);
  ASSERT_TRUE(runner);
  ::close(ends[1]);
  Fd err(ends[0]);
  pid_t outer = outer_of(err.get());
  std::string ready = lab.workspace() + "/ready";
  EXPECT_TRUE(eventually([](const std::string& path) { return std::filesystem::exists(path); }, ready,
                         std::chrono::seconds(20)));
  end(outer, SIGTERM);
  Result<ExitStatus> status = runner->wait(std::chrono::seconds(10));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->shell_code(), 33);
}

// What a failed set-up leaves behind: nothing.
TEST_P(Life, FailedExecIsReported) {
  Lab lab(GetParam());
  lab.write("not-elf", "plain text", 0755);
  if (::geteuid() == 0) {
    EXPECT_EQ(::chown((lab.workspace() + "/not-elf").c_str(), 0, 0), 0);
  }
  Seen seen = lab.run({lab.workspace() + "/not-elf"});
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_NE(seen.err.find("refused ENOEXEC sandbox: exec: "), std::string::npos) << seen.err;
  EXPECT_NE(seen.err.find("try: "), std::string::npos);
}

// What a killed launcher left in such a place is removed by the next one.
TEST(PlantedTargets, OfAKilledLauncherAreSwept) {
  REQUIRE_CONFINEMENT();
  Lab lab(Launch::user);
  const std::string own = "/run/user/" + std::to_string(lab.uid());
  const std::string where = ::access(own.c_str(), W_OK) == 0 ? own : "/dev/shm";
  const std::string place = where + "/oncelatch-probe-0123456789abcdef";
  const std::string taken = where + "/oncelatch-probe-fedcba9876543210";
  for (const std::string& path : {place, taken}) {
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0) << path;
    std::ofstream(path + "/secret") << "planted\n";
  }
  auto bind_in = [](const std::string& directory) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (directory + "/socket").c_str());
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), 1), 0);
    return fd;
  };
  bind_in(place).reset();
  Fd alive = bind_in(taken);
  for (const std::string& path : {place, taken})
    for (const std::string& object : {path + "/socket", path})
      EXPECT_EQ(::chown(object.c_str(), lab.uid(), lab.uid()), 0) << object;
  EXPECT_EQ(lab.run({"/bin/true"}).code, 0);
  EXPECT_NE(::access(place.c_str(), F_OK), 0) << "swept";
  EXPECT_EQ(::access(taken.c_str(), F_OK), 0) << "still somebody's";
  for (const std::string& path : {place, taken}) {
    for (const char* name : {"/secret", "/socket"}) ::unlink((path + name).c_str());
    ::rmdir(path.c_str());
  }
}

// Whoever owns such a directory may put a link in its place at any moment; what the link leads to is left alone.
TEST(PlantedTargets, SweepingFollowsNoLink) {
  REQUIRE_CONFINEMENT();
  Lab lab(Launch::user);
  const std::string place = "/dev/shm/oncelatch-probe-0000000000000000";
  const std::string link = "/dev/shm/link-of-sweeping-test";
  const std::string victim = lab.outside() + "/victim";
  ASSERT_EQ(::mkdir(victim.c_str(), 0755), 0);
  ASSERT_EQ(::chown(victim.c_str(), lab.uid(), lab.uid()), 0);
  std::ofstream(victim + "/secret") << "kept\n";
  ASSERT_EQ(::symlink(victim.c_str(), link.c_str()), 0);
  std::atomic<bool> stop = false;
  // A directory that looks abandoned and the link take turns.
  std::thread swapper([&] {
    while (!stop) {
      ::mkdir(place.c_str(), 0700);
      ::mknod((place + "/socket").c_str(), S_IFSOCK | 0777, 0);
      for (const std::string& path : {place + "/socket", place}) (void)!::lchown(path.c_str(), lab.uid(), lab.uid());
      for (int i = 0; i < 1000 && !stop; ++i)
        ::renameat2(AT_FDCWD, place.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
    }
  });
  for (int i = 0; i < 60 && ::access((victim + "/secret").c_str(), F_OK) == 0; ++i)
    EXPECT_EQ(lab.run({"/bin/true"}).code, 0);
  stop = true;
  swapper.join();
  EXPECT_EQ(::access((victim + "/secret").c_str(), F_OK), 0);
  for (const std::string& path : {place, link}) {
    if (::unlink(path.c_str()) == 0) continue;
    ::unlink((path + "/socket").c_str());
    ::rmdir(path.c_str());
  }
}

// Other launches may run at the same time: each name that is there now must go away.
TEST_P(Life, PlantedTargetsAreRemoved) {
  Lab lab(GetParam());
  const std::time_t begin = std::time(nullptr) - 1;
  EXPECT_EQ(lab.run({"/bin/true"}).code, 0);
  std::vector<std::string> seen;
  for (const char* place : {"/run", "/tmp", "/var/tmp", "/dev/shm"}) {
    DIR* directory = ::opendir(place);
    if (directory == nullptr) continue;
    while (dirent* entry = ::readdir(directory)) {
      const std::string path = std::string(place) + "/" + entry->d_name;
      struct stat info {};
      bool new_one = ::lstat(path.c_str(), &info) == 0 && info.st_ctime >= begin;
      if (std::strncmp(entry->d_name, "oncelatch-probe-", 16) == 0 && new_one) seen.push_back(path);
    }
    ::closedir(directory);
  }
  for (const std::string& path : seen) {
    bool gone = false;
    for (int i = 0; i < 1000 && !gone; ++i) {
      gone = ::access(path.c_str(), F_OK) != 0;
      if (!gone) ::usleep(10'000);
    }
    EXPECT_TRUE(gone) << path;
  }
}

}  // namespace
}  // namespace oncelatch::sandbox
