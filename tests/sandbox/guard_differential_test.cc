// The workspace guard against none: the same random file operations, what each of them gives and what is there at the
// end. Apart from names of the guard there is no difference but these, which the operations leave out:
// - a socket that was bound by a path with a link or ".." in it is called by its last component (sandbox/broker.cc);
// - F_GETFL doesn't tell O_NOFOLLOW of an existing file: it was found first, and is then opened as an object;
// - files of other owners and those with a name outside, which may not be written or linked;
// - more than 40 links in one lookup are too many for the kernel; for the broker only in one part of it, and the kernel
//   counts twice what it looks up again, so from 20 on it isn't of one mind either;
// - what lies deeper than a path can be long has no name that could be judged: ENAMETOOLONG;
// - an open that waits for a pipe's reader isn't interrupted by a signal to a process of several threads.
#include <filesystem>
#include <sstream>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const Words kWithout = {"--no-guard", "--accept-loss", "creation_guard"};
constexpr const char* kOperations = "2500";
constexpr std::size_t kContext = 8;

class GuardDifference : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
  [[nodiscard]] static Words lines(const std::string& seed, const Words& options) {
    const Lab lab(GetParam());
    fs::copy_file(tool("file_operations"), lab.workspace() + "/file_operations");
    fs::permissions(lab.workspace() + "/file_operations", fs::perms(0755));
    const Seen seen = lab.run({lab.workspace() + "/file_operations", seed, kOperations}, options);
    EXPECT_EQ(seen.code, 0) << seen.err;
    Words result;
    std::istringstream text(seen.out);
    for (std::string line; std::getline(text, line);) result.push_back(line);
    return result;
  }
  // The first line that differs, of both, and what stands before it.
  [[nodiscard]] static std::string difference(const Words& guarded, const Words& free) {
    std::size_t first = 0;
    while (first < guarded.size() && first < free.size() && guarded[first] == free[first]) ++first;
    if (first == guarded.size() && first == free.size()) return "";
    std::string told;
    for (std::size_t i = first > kContext ? first - kContext : 0; i < first; ++i) told += "  " + guarded[i] + "\n";
    told += "guard:   " + (first < guarded.size() ? guarded[first] : "(end)") + "\n";
    return told + "without: " + (first < free.size() ? free[first] : "(end)") + "\n";
  }
};
INSTANTIATE_TEST_SUITE_P(Launches, GuardDifference, testing::ValuesIn(possible_launches()), launch_name);

TEST_P(GuardDifference, ThereIsNoneForOrdinaryNames) {
  for (const char* seed : {"1", "2", "3"}) {
    const Words guarded = lines(seed, {});
    const Words free = lines(seed, kWithout);
    EXPECT_GT(guarded.size(), 2500U) << "seed " << seed;
    EXPECT_EQ(difference(guarded, free), "") << "seed " << seed;
  }
}

// Not by chance: opens that wait, and signals that find them waiting.
TEST_P(GuardDifference, ThereIsNoneForPipesThatAreWaitedFor) {
  const std::string script = R"py(
import os, signal, threading, time
os.mkfifo("p")
def opened(flags, other):
    held = []
    thread = threading.Thread(target=lambda: held.append(os.open("p", flags))); thread.start()
    time.sleep(0.05); before = len(held)
    end = os.open("p", other); thread.join()
    print(before, len(held)); os.close(end); os.close(held[0])
opened(os.O_RDONLY | os.O_CREAT | os.O_TRUNC, os.O_WRONLY)
opened(os.O_WRONLY | os.O_CREAT, os.O_RDONLY)
opened(os.O_WRONLY | os.O_APPEND, os.O_RDWR)
class Late(Exception): pass
def late(*_): raise Late()
for flags in (os.O_WRONLY, os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
    signal.signal(signal.SIGALRM, late); signal.setitimer(signal.ITIMER_REAL, 0.05)
    try: os.open("p", flags); print("opened")
    except Late: print("interrupted")
signal.signal(signal.SIGALRM, lambda *_: print("goes on")); signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.02)
opened(os.O_WRONLY, os.O_RDONLY)
child = os.fork()
if child == 0:
    os.open("p", os.O_WRONLY)
    os._exit(7)
time.sleep(0.1); os.kill(child, signal.SIGSTOP); print(os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]))
os.kill(child, signal.SIGCONT); time.sleep(0.05); end = os.open("p", os.O_RDONLY); print(os.waitpid(child, 0)[1] >> 8)
)py";
  const Seen guarded = Lab(GetParam()).run({"/usr/bin/python3", "-u", "-c", script});
  EXPECT_EQ(guarded.out, "0 1\n0 1\n0 1\ninterrupted\ninterrupted\ninterrupted\ngoes on\n0 1\nTrue\n7\n")
      << guarded.err;
  const Seen free = Lab(GetParam()).run({"/usr/bin/python3", "-u", "-c", script}, kWithout);
  EXPECT_EQ(guarded.out, free.out) << free.err;
}

}  // namespace
}  // namespace oncelatch::sandbox
