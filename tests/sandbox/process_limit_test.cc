// The limit on the number of processes. The bombs want the machine for themselves: these tests run one at a time.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "base/beneath.h"
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class ProcessLimit : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, ProcessLimit, testing::ValuesIn(possible_launches()), launch_name);

// With a control group, which is made for the kernel's root only, and without.
std::vector<std::vector<std::string>> sources(Launch launch) {
  if (launch == Launch::root_as_root) return {{}, {"--no-groups"}};
  return {{}};
}

std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

// E130: a fork bomb stops at the limit, also for kernel uid 0.
TEST_P(ProcessLimit, Processes) {
  Lab lab(GetParam());
  EXPECT_EQ(lab.attempts({"fork-many=400"}, {"--processes", "320"})["fork-many=400"], "EAGAIN");
  EXPECT_EQ(lab.attempts({"fork-many=200"}, {"--processes", "320"})["fork-many=200"], "OK");
}

using Clock = std::chrono::steady_clock;

long long milliseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

struct Outside {
  int starts = 0;
  Clock::duration slowest{};
};
// Starts programs outside until the bomb is ended.
Outside start_outside(Process& bomb) {
  Outside result;
  for (;;) {
    Clock::time_point before = Clock::now();
    Spawn spawn;
    spawn.path = "/bin/true";
    spawn.argv = {"true"};
    EXPECT_EQ(run_program(spawn).code, 0);
    ++result.starts;
    result.slowest = std::max(result.slowest, Clock::now() - before);
    Result<ExitStatus> end = bomb.wait(std::chrono::milliseconds(20));
    if (!end && end.error().errno_value == ETIMEDOUT) continue;
    EXPECT_EQ(end ? end->shell_code() : -1, 137);
    break;
  }
  return result;
}

// Sets it off in a sandbox and watches from outside until it is ended for the right reason.
struct Explosion {
  Outside outside;
  Clock::duration took{};
};
Explosion set_off(const Lab& lab, const std::string& bomb, const std::vector<std::string>& source) {
  Explosion result;
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd err(ends[0]);
  Spawn spawn = lab.spawn(with(source, {"--processes", "320"}), {lab.probe(), bomb});
  spawn.keep[2] = ends[1];
  Result<Process> runner = start(spawn);
  ::close(ends[1]);
  EXPECT_TRUE(runner);
  if (!runner) return result;
  Clock::time_point since = Clock::now();
  result.outside = start_outside(*runner);
  result.took = Clock::now() - since;
  std::printf("%s%s: ended after %lld ms, %d starts outside, slowest %lld ms\n", bomb.c_str(),
              source.empty() ? "" : ", no group", milliseconds(result.took), result.outside.starts,
              milliseconds(result.outside.slowest));
  Result<std::string> told = read_whole(err.get(), "stderr", 1 << 20);
  EXPECT_NE((told ? *told : told.error().message()).find("limit processes\n"), std::string::npos);
  return result;
}

// E130: what stays at the limit is ended, the reason is told, and the rest of the machine stays usable.
TEST_P(ProcessLimit, Bombs) {
  Lab lab(GetParam());
  for (const std::vector<std::string>& source : sources(GetParam()))
    for (const char* bomb : {"fork-bomb", "thread-bomb", "vfork-bomb"}) {
      Explosion seen = set_off(lab, bomb, source);
      EXPECT_LT(seen.outside.slowest, std::chrono::seconds(5));  // the machine may be busy with other things too
      EXPECT_LT(seen.took, std::chrono::seconds(20));
    }
}

// Hundreds of processes that each sleep for a millisecond cost the machine its time in timer interrupts, with or
// without a limit on processes (SECURITY.md, "not protected"): the bomb is ended all the same, and each start outside
// succeeds.
TEST_P(ProcessLimit, SleepyBombs) {
  Lab lab(GetParam());
  for (const std::vector<std::string>& source : sources(GetParam()))
    EXPECT_GE(set_off(lab, "sleepy-fork-bomb", source).outside.starts, 2);
}

// Many processes that fit are nobody's fault, however long they stay and however they come and go.
TEST_P(ProcessLimit, ManyProcessesThatFitAreLeftAlone) {
  Lab lab(GetParam());
  const std::string script =
      "i=0; while [ $i -lt 270 ]; do sleep 4 & i=$((i+1)); done; "
      "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; wait; echo done";
  for (const std::vector<std::string>& source : sources(GetParam())) {
    Seen seen = lab.run({"/bin/sh", "-c", script}, with(source, {"--processes", "320"}));
    EXPECT_EQ(seen.code, 0) << seen.err;
    EXPECT_EQ(seen.out, "done\n");
    EXPECT_EQ(seen.err, "");
  }
}

}  // namespace
}  // namespace oncelatch::sandbox
