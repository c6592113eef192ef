#include <unistd.h>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class Limited : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Limited, testing::ValuesIn(possible_launches()), launch_name);

// E130: a fork bomb stops at the limit, also for kernel uid 0.
TEST_P(Limited, Processes) {
  Lab lab(GetParam());
  EXPECT_EQ(lab.attempts({"fork-many=400"}, {"--processes", "320"})["fork-many=400"], "EAGAIN");
  EXPECT_EQ(lab.attempts({"fork-many=200"}, {"--processes", "320"})["fork-many=200"], "OK");
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
  Seen seen = lab.run(
      {"/bin/sh", "-c", "ulimit -c; ulimit -Hn; cat /proc/sys/user/max_user_namespaces /proc/self/oom_score_adj"});
  EXPECT_TRUE(seen.out.starts_with("0\n4096\n0\n")) << seen.out << seen.err;
}

TEST_P(Limited, CapabilitiesAreGone) {
  Lab lab(GetParam());
  Seen seen =
      lab.run({"/bin/sh", "-c",
               "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status /proc/1/status | sed 's/.*://' | sort -u"});
  EXPECT_EQ(seen.out, "\t0000000000000000\n\t1\n\t2\n") << seen.err;
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
