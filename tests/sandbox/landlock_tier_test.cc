// A machine without user namespaces (a filter outside refuses them): the Landlock tier, refused by default, and with
// accepted losses held as claimed.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/sandbox/bystander.h"
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

using Words = std::vector<std::string>;

const Words kLost = {"write_scope", "read_scope", "deny_inside", "creation_guard", "processes"};

Words accepted() {
  Words words;
  for (const std::string& name : kLost) {
    words.emplace_back("--accept-loss");
    words.push_back(name);
  }
  return words;
}

// A lab with a home and a private temporary directory on the host, launched where user namespaces are refused.
class TierLab : public Lab {
 public:
  explicit TierLab(Launch launch) : Lab(launch) {
    home_ = outside() + "-home";
    temporary_ = outside() + "-tmp";
    for (const std::string& path : {home_, temporary_}) {
      EXPECT_EQ(::mkdir(path.c_str(), 0755), 0);
      if (::geteuid() == 0) {
        EXPECT_EQ(::chown(path.c_str(), uid(), uid()), 0);
      }
    }
  }
  [[nodiscard]] Spawn without_namespaces(const Words& options, const Words& program) const {
    Words all = {"--home", home_, "--bind", temporary_ + ":/tmp:rw"};
    all.insert(all.end(), options.begin(), options.end());
    Spawn spawn;
    spawn.path = tool("deny_syscall");
    spawn.argv = {"deny_syscall", "user-namespaces", tool("sandbox_runner")};
    Words rest = command(all, program);
    spawn.argv.insert(spawn.argv.end(), rest.begin() + 1, rest.end());
    return spawn;
  }
  [[nodiscard]] Seen run_with(Words options, const Words& program) const {
    Words losses = accepted();
    options.insert(options.begin(), losses.begin(), losses.end());
    return run_program(without_namespaces(options, program));
  }
  [[nodiscard]] std::map<std::string, std::string> attempts_with(const Words& options, const Words& words) const {
    Words program = {probe()};
    program.insert(program.end(), words.begin(), words.end());
    Seen seen = run_with(options, program);
    EXPECT_EQ(seen.code, 0) << seen.err;
    return seen.verdicts();
  }
  [[nodiscard]] const std::string& home() const { return home_; }
  [[nodiscard]] const std::string& temporary() const { return temporary_; }

 private:
  std::string home_;
  std::string temporary_;
};

class LandlockTier : public testing::TestWithParam<Launch> {};
std::vector<Launch> ordinary_launches() {
  if (::geteuid() != 0) return {Launch::user};
  return {Launch::root_as_user, Launch::user};
}
INSTANTIATE_TEST_SUITE_P(Launches, LandlockTier, testing::ValuesIn(ordinary_launches()), launch_name);

TEST_P(LandlockTier, IsRefusedUntilEachLossIsAccepted) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  Seen seen = run_program(lab.without_namespaces({}, {"/bin/echo", "ran"}));
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_EQ(seen.out, "");
  EXPECT_NE(seen.err.find("refused EOPNOTSUPP sandbox: the landlock tier"), std::string::npos) << seen.err;
  for (const std::string& name : kLost) {
    EXPECT_NE(seen.err.find("--accept-loss " + name + " gives up: "), std::string::npos) << seen.err;
    Words all_but_one;
    for (const std::string& other : kLost) {
      if (other != name) all_but_one.insert(all_but_one.end(), {"--accept-loss", other});
    }
    Seen partly = run_program(lab.without_namespaces(all_but_one, {"/bin/echo", "ran"}));
    EXPECT_EQ(partly.code, kRefused) << name;
    EXPECT_EQ(partly.out, "") << name;
  }
  Seen accepted_all = lab.run_with({"--losses"}, {"/bin/echo", "ran"});
  EXPECT_EQ(accepted_all.code, 0) << accepted_all.err;
  EXPECT_EQ(accepted_all.out, "ran\n");
  for (const std::string& name : kLost)
    EXPECT_NE(accepted_all.err.find("loss " + name + ": "), std::string::npos) << accepted_all.err;
}

struct Attempt {
  std::string word;
  std::set<std::string> refusals;
};

std::vector<Attempt> claimed(const Lab& lab, const std::string& pid) {
  const std::set<std::string> no_file = {"EACCES"};
  const std::set<std::string> filter = {"EPERM"};
  const std::set<std::string> absent = {"ENOSYS"};
  return {
      {"write=" + lab.outside() + "/new", no_file},
      {"append=" + lab.outside() + "/secret", no_file},
      {"truncate=" + lab.outside() + "/secret", no_file},
      {"unlink=" + lab.outside() + "/secret", no_file},
      {"mkdir=" + lab.outside() + "/new", no_file},
      {"rename=" + lab.workspace() + "/file:" + lab.outside() + "/file", {"EACCES", "EXDEV"}},
      {"link=" + lab.outside() + "/secret:" + lab.workspace() + "/secret", {"EACCES", "EXDEV", "EPERM"}},
      {"read=" + lab.outside() + "/secret", no_file},
      {"list=" + lab.outside(), no_file},
      {"list=/", no_file},
      {"list=/home", no_file},
      {"list=/sys", no_file},
      {"list=/dev", no_file},
      {"list=/dev/pts", no_file},
      {"list=/tmp", no_file},
      {"list=/etc/ssh", {"EACCES", "ENOENT"}},
      {"read=/etc/shadow", no_file},
      {"write=/usr/new", no_file},
      {"write=/dev/shm/new", no_file},
      {"append=/etc/passwd", no_file},
      {"append=/proc/sys/kernel/core_pattern", no_file},
      {"unix=" + lab.outside() + "/socket", filter},
      {"abstract=" + lab.abstract_name(), filter},
      {"socket=1:2", filter},
      {"socket=2:2", filter},
      {"socket=10:2", filter},
      {"socket=2:5", filter},
      {"socket=2:1:262", filter},
      {"socket=17:3", filter},
      {"tcp=80", no_file},
      {"listen-tcp=8080", no_file},
      {"listen-free=2", filter},
      {"listen-free=10", filter},
      {"pair=" + lab.outside() + "/socket:2", filter},
      {"pair=" + lab.outside() + "/socket:3", filter},
      {"pair=" + lab.outside() + "/socket:1", {"EISCONN"}},
      {"fast-open=80", filter},
      {"udp=127.0.0.1", filter},
      {"ptrace-me", filter},
      {"ptrace-attach=" + pid, filter},
      {"vm-read=" + pid, filter},
      {"vm-write=" + pid, filter},
      {"kcmp=" + pid, filter},
      {"read=/proc/" + pid + "/environ", {"EACCES", "EPERM"}},
      {"read=/proc/" + pid + "/mem", {"EACCES", "EPERM"}},
      {"read=/proc/" + pid + "/fd/0", {"EACCES", "EPERM"}},
      {"list=/proc/" + pid + "/root/", {"EACCES", "EPERM"}},
      {"list=/proc/" + pid + "/cwd/", {"EACCES", "EPERM"}},
      {"unshare-user", filter},
      {"unshare-mount", filter},
      {"clone-user", filter},
      {"clone3-user", absent},
      {"setns=/proc/self/ns/user", filter},
      {"mount=" + lab.workspace(), filter},
      {"chroot=" + lab.workspace(), filter},
      {"open-tree=/", absent},
      {"io-uring", absent},
      {"bpf", filter},
      {"perf", filter},
      {"keyctl", filter},
      {"tiocsti", filter},
      {"tiocsti-high=32", filter},
      {"chmod-suid=" + lab.workspace() + "/file", filter},
      {"file-capability=" + lab.workspace() + "/file", {"EOPNOTSUPP"}},
      {"call=29:0:4096:1023", absent},  // shmget
      {"call=240:0:66", absent},        // mq_open
      {"call=302:" + pid + ":7", filter},
      {"call=141:0:" + pid + ":19", filter},
      {"call=141:2:0:19", filter},
      {"any-fd", {"EBADF"}},
  };
}

TEST_P(LandlockTier, HoldsWhatItClaims) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  lab.write("file", "x");
  Bystander bystander(lab.uid());
  std::vector<Attempt> all = claimed(lab, bystander.number());
  all.push_back({"signal=" + bystander.number(), {"EPERM"}});
  all.push_back({"signal=1", {"EPERM"}});
  Words words;
  for (const Attempt& attempt : all) words.push_back(attempt.word);
  std::map<std::string, std::string> seen = lab.attempts_with({"--leak"}, words);
  for (const Attempt& attempt : all)
    EXPECT_TRUE(attempt.refusals.contains(seen[attempt.word])) << attempt.word << ": " << seen[attempt.word];
  std::ifstream secret(lab.outside() + "/secret");
  std::string content;
  std::getline(secret, content);
  EXPECT_EQ(content, "planted");
}

// What an older ABI doesn't know isn't claimed, and nothing that is claimed is missing.
TEST_P(LandlockTier, OlderAbisAreClaimedAsTheyAre) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  lab.write("file", "x");
  for (int abi = 1; abi <= 7; ++abi) {
    Words options = {"--landlock-abi", std::to_string(abi)};
    if (abi < 4) {
      Seen seen = lab.run_with(options, {"/bin/echo", "ran"});
      EXPECT_EQ(seen.code, kRefused) << abi;
      EXPECT_EQ(seen.out, "") << abi;
      EXPECT_NE(seen.err.find("can't be confined"), std::string::npos) << seen.err;
      continue;
    }
    Bystander bystander(lab.uid());
    Words words;
    for (const Attempt& attempt : claimed(lab, bystander.number())) words.push_back(attempt.word);
    std::string signal = "signal=" + bystander.number();
    words.push_back(signal);
    std::map<std::string, std::string> seen = lab.attempts_with(options, words);
    for (const Attempt& attempt : claimed(lab, bystander.number()))
      EXPECT_TRUE(attempt.refusals.contains(seen[attempt.word])) << abi << " " << attempt.word << seen[attempt.word];
    EXPECT_EQ(seen[signal], abi < 6 ? "OK" : "EPERM") << abi;
  }
}

TEST_P(LandlockTier, HostNetworkIsNarrowedToPorts) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  std::map<std::string, std::string> seen = lab.attempts_with(
      {"--host-network", "--port", "443"}, {"tcp=443", "tcp=80", "listen-tcp=8080", "listen-free=2", "socket=2:2",
                                            "socket=1:1", "unix=" + lab.outside() + "/socket"});
  EXPECT_TRUE(seen["tcp=443"] == "ECONNREFUSED" || seen["tcp=443"] == "OK") << seen["tcp=443"];
  EXPECT_EQ(seen["tcp=80"], "EACCES");
  EXPECT_EQ(seen["listen-tcp=8080"], "EACCES");
  EXPECT_EQ(seen["listen-free=2"], "EPERM");
  EXPECT_EQ(seen["socket=2:2"], "OK");  // names of hosts; the guarantee says so
  EXPECT_EQ(seen["socket=1:1"], "EPERM");
  EXPECT_EQ(seen["unix=" + lab.outside() + "/socket"], "EPERM");
  Seen loopback = lab.run_with({"--loopback", "--accept-loss", "network"}, {"/bin/echo", "ran"});
  EXPECT_EQ(loopback.code, kRefused);
  EXPECT_EQ(loopback.out, "");
}

TEST_P(LandlockTier, OrdinaryWork) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  lab.write("main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
  lab.write("work.sh",
            "set -e\n"
            "cd " +
                lab.workspace() +
                "\n"
                "gcc -o built main.c && ./built\n"
                "git init -q repository && cd repository && echo text > file && git add file\n"
                "git -c user.name=a -c user.email=b@c commit -qm first && git log --oneline | wc -l\n"
                "python3 -c 'import tempfile, subprocess, json\n"
                "with tempfile.NamedTemporaryFile() as f: f.write(b\"x\")\n"
                "print(subprocess.check_output([\"sh\", \"-c\", \"echo python\"]).decode().strip())'\n"
                "echo text > \"$HOME/mine\" && cat \"$HOME/mine\"\n"
                "echo text > /dev/null && head -c 4 /dev/urandom | wc -c\n"
                "printf '%s\\n' a b | sort -r | head -1 > $(mktemp)\n"
                "echo end\n");
  Seen seen = lab.run_with({}, {"/bin/sh", lab.workspace() + "/work.sh"});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_EQ(seen.out, "built\n1\npython\ntext\n4\nend\n") << seen.err;
}

TEST_P(LandlockTier, PtraceOfItsOwnChildrenWhereAllowed) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  Bystander bystander(lab.uid());
  std::string attach = "ptrace-seize=" + bystander.number();
  std::map<std::string, std::string> seen = lab.attempts_with({"--ptrace"}, {"ptrace-child", attach});
  EXPECT_EQ(seen["ptrace-child"], "OK");
  EXPECT_EQ(seen[attach], "EPERM");
}

// Each system call of this tier's set-up fails once: refused with the stage's name, nothing runs.
TEST_P(LandlockTier, AnyFailingStepAborts) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  const std::pair<const char*, const char*> denials[] = {
      {"setsid:1", "session"},
      {"capset:1", "capabilities"},
      {"landlock_add_rule:22", "landlock"},
      {"landlock_restrict_self:1", "landlock"},
      {"landlock_restrict_self:0", "self-test: landlock"},
      {"chdir:13", "working-directory"},
      {"execveat:13", "exec"},
  };
  for (const auto& [deny, stage] : denials) {
    Words losses = accepted();
    Spawn spawn = lab.without_namespaces(losses, {"/bin/echo", "ran"});
    spawn.argv.insert(spawn.argv.begin() + 2, {tool("deny_syscall"), deny});
    Seen seen = run_program(spawn);
    EXPECT_EQ(seen.code, kRefused) << deny << seen.err;
    EXPECT_EQ(seen.out, "") << deny;
    EXPECT_NE(seen.err.find("sandbox: " + std::string(stage)), std::string::npos) << deny << seen.err;
  }
}

// The test-only build that leaves a layer out (weaken.cc): found, and said.
TEST_P(LandlockTier, AMissingLayerIsFound) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  const std::pair<std::string, const char*> layers[] = {
      {"none", ""}, {"landlock", "self-test: landlock"}, {"seccomp", "self-test: "}, {"init-not-dumpable", ""}};
  for (const auto& [layer, named] : layers) {
    Words options = accepted();
    options.insert(options.end(), {"--env", "ONCELATCH_WEAKEN=" + layer});
    Spawn spawn = lab.without_namespaces(options, {"/bin/echo", "ran"});
    spawn.argv[2] = ONCELATCH_WEAKENED_RUNNER;
    Seen seen = run_program(spawn);
    // Landlock's ptrace rule keeps the first process hidden as well.
    bool refused = std::string(named) != "";
    EXPECT_EQ(seen.code, refused ? kRefused : 0) << layer << seen.err;
    EXPECT_EQ(seen.out, refused ? "" : "ran\n") << layer;
    EXPECT_NE(seen.err.find(named), std::string::npos) << layer << seen.err;
  }
}

TEST_P(LandlockTier, ExitCodesAndSignals) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  EXPECT_EQ(lab.run_with({}, {"/bin/sh", "-c", "exit 7"}).code, 7);
  EXPECT_EQ(lab.run_with({}, {"/bin/sh", "-c", "kill -TERM $$"}).code, 128 + SIGTERM);
  EXPECT_EQ(lab.run_with({}, {"/bin/sh", "-c", "kill -KILL $PPID; kill -0 $PPID || echo held"}).out, "held\n");
}

// Of processes with this word in their command line, as /proc shows them.
int running(const std::string& word) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    Fd file(::open((entry.path() / "cmdline").c_str(), O_RDONLY | O_CLOEXEC));
    char text[4096];
    ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
    std::string line(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    if (line.find(word) != std::string::npos && line.find("sandbox_runner") == std::string::npos) ++count;
  }
  return count;
}

bool becomes(int wanted, const std::string& word, std::chrono::milliseconds within) {
  auto deadline = std::chrono::steady_clock::now() + within;
  while (running(word) != wanted) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Four processes in sessions of their own, two of them orphans.
std::string scatter(const std::string& seconds) {
  return "setsid sleep " + seconds + " & (setsid sleep " + seconds + " &) ; (sh -c 'setsid sleep " + seconds +
         " & exit' &) ; sleep " + seconds;
}

TEST_P(LandlockTier, EndsEverythingWithTheProgram) {
  REQUIRE_CONFINEMENT();
  TierLab lab(GetParam());
  std::string seconds = "9" + std::to_string(::getpid()) + "1";
  Seen seen = lab.run_with(
      {}, {"/bin/sh", "-c", "(setsid sleep " + seconds + " &) ; setsid sleep " + seconds + " & sleep 0.1; echo left"});
  EXPECT_EQ(seen.out, "left\n") << seen.err;
  EXPECT_EQ(running(seconds), 0);
}

class LandlockTierEnd : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(KilledFirst, LandlockTierEnd, testing::Bool(),
                         [](const auto& which) { return std::string(which.param ? "outer" : "runner"); });

void kill_one(const TierLab& lab, bool kills_outer, const std::string& seconds) {
  Words options = accepted();
  options.emplace_back("--announce");
  Spawn spawn = lab.without_namespaces(options, {"/bin/sh", "-c", scatter(seconds)});
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  spawn.keep[2] = write_end.get();
  Result<Process> process = start(spawn);
  ASSERT_TRUE(process);
  write_end.reset();
  std::string told;
  char byte = 0;
  while (told.find('\n') == std::string::npos && ::read(read_end.get(), &byte, 1) == 1) told += byte;
  int outer = 0;
  ASSERT_EQ(std::sscanf(told.c_str(), "outer %d", &outer), 1) << told;
  ASSERT_GT(outer, 1);
  // sh with the word in its script, and four that sleep
  ASSERT_TRUE(becomes(5, seconds, std::chrono::seconds(10))) << running(seconds);
  ::kill(kills_outer ? outer : process->pid(), SIGKILL);
  auto killed = std::chrono::steady_clock::now();
  EXPECT_TRUE(becomes(0, seconds, std::chrono::seconds(2))) << running(seconds);  // the machine may be busy
  auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - killed);
  std::printf("landlock tier, kill -9 of the %s: all gone after %lld ms\n", kills_outer ? "outer process" : "launcher",
              static_cast<long long>(took.count()));
  ::kill(process->pid(), SIGKILL);
  (void)process->wait(std::chrono::seconds(5));
}

// Often: both that could end the rest hear of the launcher's end, and neither may be killed before it is done.
TEST_P(LandlockTierEnd, KillingOneEndsEverything) {
  REQUIRE_CONFINEMENT();
  TierLab lab(Launch::user);
  for (int round = 10; round < 35 && !HasFatalFailure(); ++round)
    kill_one(lab, GetParam(), "9" + std::to_string(::getpid()) + std::to_string(round) + (GetParam() ? "2" : "3"));
}

// Faster than it can be ended, it would outlive its session.
TEST(LandlockTierBomb, ForkingIsEndedToo) {
  REQUIRE_CONFINEMENT();
  TierLab lab(Launch::user);
  std::string word = "bomb" + std::to_string(::getpid());
  lab.write("bomb.sh", "i=0; while [ $i -lt 200 ]; do (sh \"$0\" " + word + " &) ; i=$((i+1)); done\n");
  Seen seen =
      lab.run_with({"--processes", "64", "--close-lifeline", "300"},
                   {"/bin/sh", "-c", "sh " + lab.workspace() + "/bomb.sh " + word + " 2>/dev/null & exec sleep 100"});
  EXPECT_EQ(seen.code, 128 + SIGKILL) << seen.err;
  EXPECT_EQ(running(word), 0);
}

// Nobody lives on by being the child of one that can't be waited for: by the domain, and before there were scopes by
// the process group.
TEST(LandlockTierBomb, AChainOfForksIsEndedToo) {
  REQUIRE_CONFINEMENT();
  for (const Words& more : {Words{}, Words{"--landlock-abi", "5"}}) {
    TierLab lab(Launch::user);
    Words options = {"--close-lifeline", "300"};
    options.insert(options.end(), more.begin(), more.end());
    const auto start = std::chrono::steady_clock::now();
    Seen seen = lab.run_with(options, {lab.probe(), "vfork-chain=12"});
    EXPECT_EQ(seen.code, 128 + SIGKILL) << seen.err;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8)) << "until it ended by itself";
    EXPECT_EQ(running(lab.workspace() + "/probe"), 0);
  }
}

// Kernel user 0 keeps no capability, and its write scope isn't claimed.
TEST(LandlockTierRoot, NamesWhatUserZeroLoses) {
  REQUIRE_CONFINEMENT();
  if (::geteuid() != 0) GTEST_SKIP() << "not root";
  TierLab lab(Launch::root_as_root);
  Seen refused = run_program(lab.without_namespaces({}, {"/bin/echo", "ran"}));
  EXPECT_EQ(refused.code, kRefused);
  EXPECT_NE(refused.err.find("write_scope (none of 2 layers: user 0"), std::string::npos) << refused.err;
  std::map<std::string, std::string> seen =
      lab.attempts_with({}, {"write=" + lab.outside() + "/new", "read=/etc/shadow", "mount=/mnt", "write=/root/x",
                             "kill=1", "settimeofday", "write=" + lab.workspace() + "/mine"});
  for (const auto& [word, verdict] : seen)
    EXPECT_TRUE(verdict == "EACCES" || verdict == "EPERM" || word.ends_with("/mine")) << word << verdict;
  EXPECT_EQ(seen["write=" + lab.workspace() + "/mine"], "OK");
  EXPECT_NE(lab.run_with({}, {"/bin/cat", "/proc/self/status"}).out.find("CapEff:\t0000000000000000"),
            std::string::npos);
}

}  // namespace
}  // namespace oncelatch::sandbox
