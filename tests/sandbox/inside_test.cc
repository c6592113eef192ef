// What a program finds inside the full tier: mounts, /proc and groups as the kernel shows them.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class Inside : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Inside, testing::ValuesIn(possible_launches()), launch_name);

std::set<std::string> options_of(const std::string& text) {
  std::set<std::string> options;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) options.insert(word);
  return options;
}

// E018 E019: no mount runs set-id programs, none but the six harmless devices and the terminals has devices.
TEST_P(Inside, NoMountHasSetIdFilesOrDevices) {
  Lab lab(GetParam());
  lab.make_directory(".git");
  const std::string ws = lab.workspace();
  Seen seen =
      lab.run({"/bin/cat", "/proc/self/mountinfo"}, {"--protect", ws + "/.git", "--bind", lab.outside() + ":/data:ro"});
  ASSERT_EQ(seen.code, 0) << seen.err;
  const std::set<std::string> devices = {"/dev/null",    "/dev/zero", "/dev/full",   "/dev/random",
                                         "/dev/urandom", "/dev/tty",  "/dev/console"};
  std::set<std::string> places;
  std::istringstream lines(seen.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped, place, text;
    words >> skipped >> skipped >> skipped >> skipped >> place >> text;
    const std::set<std::string> options = options_of(text);
    places.insert(place);
    if (devices.contains(place)) {  // one node each, which isn't executed; kernel user 0 owns them
      EXPECT_TRUE(options.contains("ro") || place == "/dev/console" || GetParam() != Launch::root_as_root) << line;
    } else {
      EXPECT_TRUE(options.contains("nosuid")) << line;
      EXPECT_TRUE(options.contains("nodev") || (place == "/dev/pts" && options.contains("noexec"))) << line;
    }
  }
  for (const std::string& place :
       {std::string("/"), std::string("/usr"), std::string("/proc"), std::string("/dev/null"), std::string("/tmp"),
        std::string("/data"), ws, ws + "/.git"})
    EXPECT_TRUE(places.contains(place)) << place;
}

// What reaches the kernel is covered, where this kernel has it; root could read most of it.
TEST_P(Inside, TheDangerousPartsOfProcAreEmpty) {
  Lab lab(GetParam());
  int there = 0;
  std::string script;
  for (const char* name :
       {"kcore", "kallsyms", "keys", "timer_list", "sched_debug", "latency_stats", "mtrr", "kmsg", "kpagecount",
        "kpageflags", "kpagecgroup", "vmallocinfo", "slabinfo", "pagetypeinfo", "sysrq-trigger"}) {
    if (!std::filesystem::exists(std::string("/proc/") + name)) continue;
    ++there;
    script += std::string("head -c 64 /proc/") + name + " 2>/dev/null | wc -c; ";
  }
  for (const char* name : {"scsi", "irq", "bus", "acpi", "fs", "driver"}) {
    if (!std::filesystem::exists(std::string("/proc/") + name)) continue;
    ++there;
    script += std::string("ls -A /proc/") + name + " 2>/dev/null | wc -l; ";
  }
  EXPECT_GT(there, 8);
  Seen seen = lab.run({"/bin/sh", "-c", script});
  std::string nothing;
  for (int i = 0; i < there; ++i) nothing += "0\n";
  EXPECT_EQ(seen.out, nothing) << script;
}

// Whoever is in the group of a disk, of shadow or of a container's socket.
TEST_P(Inside, NoOtherGroupIsKept) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can take a group";
  Lab lab(GetParam());
  lab.write("../outside/for-the-group", "secret");
  const std::string file = lab.outside() + "/for-the-group";
  ASSERT_EQ(::chown(file.c_str(), 0, 4242), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  Spawn spawn = lab.spawn({"--bind", lab.outside() + ":/data:ro"},
                          {"/bin/sh", "-c", "grep Groups: /proc/self/status; cat /data/for-the-group"});
  spawn.argv[0] = spawn.path;
  spawn.argv.insert(spawn.argv.begin(), {"setpriv", "--groups", "0,4242"});
  spawn.path = "/usr/bin/setpriv";
  Seen seen = run_program(spawn);
  std::istringstream words(seen.out);
  std::string word;
  words >> word;
  EXPECT_EQ(word, "Groups:") << seen.out << seen.err;
  EXPECT_EQ(seen.out.find("4242"), std::string::npos) << seen.out;
  if (GetParam() == Launch::root_as_user) {  // mapped, what root shows is the program's own to read
    EXPECT_EQ(seen.out.find("secret"), std::string::npos) << seen.out;
  }
}

TEST_P(Inside, TheControlGroupsOfTheHostHaveNoNames) {
  Lab lab(GetParam());
  Seen seen = lab.run({"/bin/cat", "/proc/self/cgroup"});
  std::istringstream lines(seen.out);
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(line.ends_with(":/")) << line;
}

}  // namespace
}  // namespace oncelatch::sandbox
