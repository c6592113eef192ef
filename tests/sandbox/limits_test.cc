#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/beneath.h"
#include "sandbox/cgroup_places.h"
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class Limited : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Limited, testing::ValuesIn(possible_launches()), launch_name);

// With a control group where one can be had, and without.
const std::vector<std::vector<std::string>>& sources() {
  static const std::vector<std::vector<std::string>> all = {{}, {"--no-groups"}};
  return all;
}
std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

// E131: all processes together; the program ends with its greedy child.
TEST_P(Limited, Memory) {
  Lab lab(GetParam());
  for (const std::vector<std::string>& source : sources())
    for (const char* greed : {"hog=2000", "hog-shared=2000", "hog-together=2000"}) {
      std::string script = "exec 2>/dev/null; \"$0\" " + std::string(greed) + "; sleep 2; exit 3";
      Seen seen = lab.run({"/bin/sh", "-c", script, lab.probe()}, with(source, {"--memory", "134217728"}));
      EXPECT_EQ(seen.code, 137) << greed;
      EXPECT_EQ(seen.err, "limit memory\n") << greed;
    }
}

TEST_P(Limited, MemoryThatFitsIsLeftAlone) {
  Lab lab(GetParam());
  for (const std::vector<std::string>& source : sources()) {
    Seen seen = lab.run({lab.probe(), "hog=64", "hog-shared=64", "hog-together=64", "hog=64"},
                        with(source, {"--memory", "134217728"}));
    EXPECT_EQ(seen.code, 0);
    EXPECT_EQ(seen.out, "hog=64 OK\nhog-shared=64 OK\nhog-together=64 OK\nhog=64 OK\n");
    EXPECT_EQ(seen.err, "");
  }
}

TEST_P(Limited, PageTablesAreMemory) {
  Lab lab(GetParam());
  for (const std::vector<std::string>& source : sources()) {
    Seen seen = lab.run({lab.probe(), "page-tables=400"}, with(source, {"--memory", "134217728"}));
    EXPECT_EQ(seen.code, 137);
    EXPECT_EQ(seen.err, "limit memory\n");
  }
}

// A program that is being started has its parent's memory for a moment.
TEST_P(Limited, MemoryThatIsLentIsCountedOnce) {
  Lab lab(GetParam());
  for (const std::vector<std::string>& source : sources()) {
    Seen seen = lab.run({lab.probe(), "lend-memory=80"}, with(source, {"--memory", "134217728"}));
    EXPECT_EQ(seen.code, 0);
    EXPECT_EQ(seen.out, "lend-memory=80 OK\n");
    EXPECT_EQ(seen.err, "");
  }
}

// What keeps the limits runs as the same user.
TEST_P(Limited, TheOneWhoCountsCantBeBlinded) {
  Lab lab(GetParam());
  for (const std::vector<std::string>& source : sources()) {
    std::string script = "exec 2>/dev/null; \"$0\" take-descriptors=1 make-idle=1 slow-user; \"$0\" hog=2000; exit 3";
    Seen seen = lab.run({"/bin/sh", "-c", script, lab.probe()}, with(source, {"--memory", "134217728"}));
    EXPECT_EQ(seen.out, "take-descriptors=1 EPERM\nmake-idle=1 EPERM\nslow-user EPERM\n");
    EXPECT_EQ(seen.code, 137);
    EXPECT_EQ(seen.err, "limit memory\n");
  }
}

// Pages that a fork shares are counted once, and each for itself once they are written.
TEST_P(Limited, MemoryThatIsSharedByForks) {
  Lab lab(GetParam());
  auto script = [](const std::string& in_child) {
    return "import os, time\n"
           "b = bytearray(60 << 20)\n"
           "b[::4096] = bytes(len(b) >> 12).replace(b'\\0', b'x')\n"
           "children = []\n"
           "for i in range(4):\n"
           "    children.append(os.fork())\n"
           "    if children[-1] == 0:\n"
           "        " +
           in_child +
           "; time.sleep(2); os._exit(0)\n"
           "for child in children: os.waitpid(child, 0)\n";
  };
  for (const std::vector<std::string>& source : sources()) {
    std::vector<std::string> options = with(source, {"--memory", "134217728"});
    Seen shared = lab.run({"/usr/bin/python3", "-c", script("pass")}, options);
    EXPECT_EQ(shared.code, 0) << shared.err;
    EXPECT_EQ(shared.err, "");
    Seen written = lab.run({"/usr/bin/python3", "-c", script("b[::4096] = b[::4096].replace(b'x', b'y')")}, options);
    EXPECT_EQ(written.code, 137);
    EXPECT_EQ(written.err, "limit memory\n");
  }
}

// E131: what lies in a temporary filesystem is memory too, where the kernel counts.
TEST_P(Limited, MemoryInFiles) {
  if (::geteuid() != 0 || GetParam() == Launch::user) return;  // counted for a group only
  Lab lab(GetParam());
  Seen seen = lab.run({"/bin/sh", "-c", "exec 2>/dev/null; head -c 300000000 /dev/zero > /tmp/big; sleep 2"},
                      {"--memory", "134217728"});
  EXPECT_EQ(seen.code, 137);
  EXPECT_EQ(seen.err, "limit memory\n");
}

// A program that kills itself, or is killed by another's signal, hit no limit.
TEST_P(Limited, OtherEndsAreNoLimit) {
  Lab lab(GetParam());
  for (const std::vector<std::string>& source : sources()) {
    Seen seen = lab.run({"/bin/sh", "-c", "kill -KILL $$"}, with(source, {"--memory", "134217728"}));
    EXPECT_EQ(seen.code, 137);
    EXPECT_EQ(seen.err, "");
  }
  Seen seen = lab.run({"/bin/sh", "-c", "exit 153"});
  EXPECT_EQ(seen.code, 153);
  EXPECT_EQ(seen.err, "");
}

// E132: a tebibyte of nothing is refused by size, and the code says so.
TEST_P(Limited, SparseFile) {
  Lab lab(GetParam());
  for (const std::string& place : {lab.workspace(), std::string("/tmp")}) {
    EXPECT_EQ(lab.attempts({"sparse-file=" + place + "/sparse"})["sparse-file=" + place + "/sparse"], "SIG25");
    Seen seen = lab.run({"/bin/sh", "-c", "exec truncate -s 1T " + place + "/sparse"});
    EXPECT_EQ(seen.code, 153);
    EXPECT_EQ(seen.err, "limit file size\n");
  }
  struct stat status {};
  ASSERT_EQ(::stat((lab.workspace() + "/sparse").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 0);
}

// E132: empty files take no size, but end too.
TEST_P(Limited, EmptyFiles) {
  Lab lab(GetParam());
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    std::string many = "empty-files=" + std::string(place) + ":10000000";
    std::string few = "empty-files=" + std::string(place) + ":900";
    auto verdicts = lab.attempts({few, many}, {"--temporary", "8388608"});
    EXPECT_EQ(verdicts[few], "OK") << place;
    EXPECT_EQ(verdicts[many], "ENOSPC") << place;
  }
}

// Taken whole by what runs inside, the user's programs outside would have none.
TEST_P(Limited, WhatTheKernelCountsForTheUser) {
  Lab lab(GetParam());
  Seen seen = lab.run({"/bin/sh", "-c", "cat /proc/self/limits /proc/sys/user/max_inotify_instances"});
  for (const char* line : {"Max pending signals       4096", "Max msgqueue size         409600",
                           "Max nice priority         0 ", "Max realtime priority     0 "})
    EXPECT_NE(seen.out.find(line), std::string::npos) << line << seen.out;
  if (GetParam() == Launch::root_mapped) return;  // a kernel user of its own, whose numbers are nobody else's
  std::ifstream file("/proc/sys/fs/inotify/max_user_instances");
  int all = 0;
  ASSERT_TRUE(file >> all);
  EXPECT_NE(seen.out.find("\n" + std::to_string(all / 2 + 1) + "\n"), std::string::npos) << seen.out;
}

// E132
TEST_P(Limited, FileSize) {
  Lab lab(GetParam());
  Seen seen = lab.run({"/bin/sh", "-c", "head -c 300000 /dev/zero > big; wc -c < big"}, {"--file-size", "100000"});
  EXPECT_EQ(seen.out, "100000\n") << seen.err;
}

// E131 E132
TEST_P(Limited, TemporaryFiles) {
  Lab lab(GetParam());
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    Seen seen = lab.run({"/bin/sh", "-c", "head -c 300000 /dev/zero > " + std::string(place) + "/big"},
                        {"--temporary", "131072"});
    EXPECT_NE(seen.err.find("No space left"), std::string::npos) << place << seen.err;
  }
}

TEST_P(Limited, CoreFilesAndUserNamespaces) {
  Lab lab(GetParam());
  Seen seen =
      lab.run({"/bin/sh", "-c",
               "ulimit -c; ulimit -Hn; ulimit -Hl; cat /proc/sys/user/max_user_namespaces /proc/self/oom_score_adj"});
  EXPECT_EQ(seen.out, "0\n4096\n8192\n0\n1000\n") << seen.err;
}

TEST_P(Limited, CapabilitiesAreGone) {
  Lab lab(GetParam());
  Seen seen =
      lab.run({"/bin/sh", "-c",
               "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status /proc/1/status | sed 's/.*://' | sort -u"});
  EXPECT_EQ(seen.out, "\t0000000000000000\n\t1\n\t2\n") << seen.err;
}

// A launcher that was killed can't remove its group; the next one does.
TEST(LimitedHost, GroupOfAKilledLauncherIsSwept) {
  REQUIRE_CONFINEMENT();
  auto text_of = [](const char* path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CgroupPlaces places = find_places(text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo"));
  Lab lab(possible_launches().front());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd err(ends[0]);
  Spawn spawn = lab.spawn({"--announce", "--memory", "134217728"}, {"/bin/sleep", "1000"});
  spawn.keep[2] = ends[1];
  Result<Process> runner = start(spawn);
  ::close(ends[1]);
  ASSERT_TRUE(runner);
  char byte = 0;
  EXPECT_EQ(::read(err.get(), &byte, 1), 1);  // it runs, and what the start planted is gone
  const std::string mark = "-" + std::to_string(runner->pid()) + "-";
  auto groups = [&places, &mark] {
    int found = 0;
    for (const std::string& place : {places.memory, places.processes}) {
      std::error_code none;
      for (const auto& entry : std::filesystem::directory_iterator(place, none))
        found += entry.path().filename().string().find(mark) != std::string::npos ? 1 : 0;
    }
    return found;
  };
  const int made = ::geteuid() == 0 && ::access(places.memory.c_str(), W_OK) == 0 ? 2 : 0;
  EXPECT_EQ(groups(), made);
  ASSERT_TRUE(runner->signal(SIGKILL));
  ASSERT_TRUE(runner->wait(std::chrono::seconds(10)));
  for (int i = 0; i < 100 && (i == 0 || groups() > 0); ++i)
    EXPECT_EQ(lab.run({"/bin/true"}, {"--memory", "134217728"}).code, 0);
  EXPECT_EQ(groups(), 0);
}

// kernel.pid_max of the host isn't touched.
TEST(LimitedHost, PidMaxStays) {
  REQUIRE_CONFINEMENT();
  auto value = [] {
    Spawn spawn;
    spawn.path = "/bin/cat";
    spawn.argv = {"cat", "/proc/sys/kernel/pid_max", "/proc/sys/user/max_user_namespaces"};
    return run_program(spawn).out;
  };
  std::string before = value();
  Lab lab(possible_launches().front());
  EXPECT_EQ(lab.run({"/bin/true"}, {"--processes", "320"}).code, 0);
  EXPECT_EQ(value(), before);
}

}  // namespace
}  // namespace oncelatch::sandbox
