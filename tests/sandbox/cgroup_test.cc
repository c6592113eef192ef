// Where a control group comes from, and that none is left. What needs root asserts the way without a group for others.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/process.h"
#include "sandbox/cgroup.h"
#include "sandbox/cgroup_places.h"
#include "tests/base/temporary.h"

namespace oncelatch::sandbox {

namespace {

using Paths = std::vector<std::string>;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

CgroupPlaces places_here() {
  return find_places(text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo"));
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Paths groups_of_ours(const std::string& parent) {
  Paths found;
  DIR* directory = ::opendir(parent.c_str());
  while (const dirent* entry = directory == nullptr ? nullptr : ::readdir(directory)) {
    std::string name = entry->d_name;
    if (name.starts_with("oncelatch-") && name.find("-" + std::to_string(::getpid()) + "-") != std::string::npos)
      found.push_back(parent + "/" + name);
  }
  if (directory != nullptr) ::closedir(directory);
  return found;
}

Spawn shell(const std::string& script) {
  Spawn spawn;
  spawn.path = "/bin/sh";
  spawn.argv = {"sh", "-c", script};
  spawn.environment = {"PATH=/usr/bin:/bin"};
  return spawn;
}

TEST(CgroupPlaces, UnifiedIsOwnAndTheOneAbove) {
  CgroupPlaces places = find_places("0::/user.slice/app.slice/x.scope\n",
                                    "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_EQ(places.unified,
            (Paths{"/sys/fs/cgroup/user.slice/app.slice/x.scope", "/sys/fs/cgroup/user.slice/app.slice"}));
  EXPECT_EQ(places.memory, "");
  places = find_places("0::/\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(places.unified, (Paths{"/sys/fs/cgroup"}));
}

TEST(CgroupPlaces, HybridHasBoth) {
  CgroupPlaces places =
      find_places("9:name=systemd:/\n8:pids:/\n4:memory,hugetlb:/a/b\n0::/\n",
                  "40 30 0:30 / /sys/fs/cgroup/memory rw,relatime shared:5 master:1 - cgroup cgroup rw,hugetlb,memory\n"
                  "41 30 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
                  "42 30 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(places.unified, (Paths{"/sys/fs/cgroup/unified"}));
  EXPECT_EQ(places.memory, "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(places.processes, "/sys/fs/cgroup/pids");
}

// A container sees a part of the hierarchy; a process that was moved out of that part sees "..".
TEST(CgroupPlaces, ContainersSeeAPart) {
  const char* mounts = "41 30 0:31 /docker/abc /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n";
  EXPECT_EQ(find_places("8:pids:/docker/abc\n", mounts).processes, "/sys/fs/cgroup/pids");
  EXPECT_EQ(find_places("8:pids:/docker/abc/sub\n", mounts).processes, "/sys/fs/cgroup/pids/sub");
  EXPECT_EQ(find_places("8:pids:/docker/abcd\n", mounts).processes, "");
  EXPECT_EQ(find_places("8:pids:/../../else\n", "41 30 0:31 / /c rw - cgroup cgroup rw,pids\n").processes, "");
}

TEST(CgroupPlaces, WhatIsNoListGivesNothing) {
  for (const char* text : {"", "\n", "::", "0:", "garbage", "1:pids", " - ", "a b c d e - cgroup2 x rw"}) {
    CgroupPlaces places = find_places(text, text);
    EXPECT_TRUE(places.unified.empty() && places.memory.empty() && places.processes.empty()) << text;
  }
  EXPECT_TRUE(find_places("0::/x\n", "30 23 0:26 / /sys\\040fs rw - cgroup2 cgroup2 rw\n").unified.empty());
}

TEST(Cgroup, NoneIsMadeWithoutNeed) {
  Cgroup group = Cgroup::make({.memory = 0, .processes = 512, .always = false});
  EXPECT_TRUE(group.enroll().empty());
  EXPECT_FALSE(group.limits_memory() || group.limits_processes());
  EXPECT_EQ(group.in_words(), "memory: the first process inside, which counts; processes: pid namespace, rlimit");
}

// A hierarchy that turns out not to work leaves nothing behind and falls through to none.
TEST(Cgroup, FallsThrough) {
  TemporaryDirectory temporary;
  std::string mount = temporary.path() + "/group";
  ASSERT_EQ(::mkdir(mount.c_str(), 0755), 0);
  std::ofstream(mount + "/cgroup.subtree_control") << "cpu memory pids\n";
  std::ofstream(mount + "/cgroup.procs") << "";
  Cgroup::Lists lists{temporary.path() + "/own", temporary.path() + "/mounts"};
  std::ofstream(lists.own_groups) << "0::/\n8:pids:/\n4:memory:/\n";
  std::ofstream(lists.mounts) << "30 23 0:26 / " << mount << " rw - cgroup2 cgroup2 rw\n"
                              << "31 23 0:27 / " << mount << " rw - cgroup cgroup rw,memory,pids\n";
  Cgroup group = Cgroup::make({.memory = 1 << 26, .processes = 512, .always = true}, lists);
  EXPECT_TRUE(group.enroll().empty());
  EXPECT_FALSE(group.limits_memory() || group.limits_processes());
  EXPECT_TRUE(groups_of_ours(mount).empty());
}

// A session never leaves what limits its launcher: the group above is tried only where ours binds no tighter.
TEST(Cgroup, GroupAboveOnlyWhereNothingIsLost) {
  struct Case {
    const char* file;
    const char* limit;
    bool tried;
  };
  for (const Case& each :
       {Case{"memory.max", "max\n", true}, Case{"memory.max", "99999999999\n", true},
        Case{"memory.max", "1000\n", false}, Case{"memory.high", "1000\n", false}, Case{"pids.max", "9000\n", true},
        Case{"pids.max", "100\n", false}, Case{"cpu.max", "max 100000\n", true},
        Case{"cpu.max", "50000 100000\n", false}, Case{"io.max", "8:0 rbps=1 wbps=max\n", false}}) {
    TemporaryDirectory temporary;
    std::string above = temporary.path() + "/group";
    ASSERT_EQ(::mkdir(above.c_str(), 0755), 0);
    ASSERT_EQ(::mkdir((above + "/own").c_str(), 0755), 0);
    std::ofstream(above + "/cgroup.subtree_control") << "memory pids\n";
    std::ofstream(above + "/cgroup.procs") << "";
    std::ofstream(above + "/own/" + each.file) << each.limit;
    Cgroup::Lists lists{temporary.path() + "/own", temporary.path() + "/mounts"};
    std::ofstream(lists.own_groups) << "0::/own\n";
    std::ofstream(lists.mounts) << "30 23 0:26 / " << above << " rw - cgroup2 cgroup2 rw\n";
    const timespec old[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, above.c_str(), old, 0), 0);
    Cgroup group = Cgroup::make({.memory = 1 << 26, .processes = 512, .always = false}, lists);
    EXPECT_TRUE(group.enroll().empty());  // these are plain directories
    struct stat after {};
    ASSERT_EQ(::stat(above.c_str(), &after), 0);
    EXPECT_EQ(after.st_mtim.tv_sec != 1000, each.tried) << each.file << " " << each.limit;
    EXPECT_TRUE(groups_of_ours(above).empty());
  }
}

bool can_make_groups(const CgroupPlaces& places) {
  return ::geteuid() == 0 && !places.memory.empty() && ::access(places.memory.c_str(), W_OK) == 0 &&
         !places.processes.empty() && ::access(places.processes.c_str(), W_OK) == 0;
}

TEST(Cgroup, LimitsBothAndIsRemoved) {
  CgroupPlaces places = places_here();
  Cgroup group = Cgroup::make({.memory = 1 << 26, .processes = 4, .always = false});
  if (!can_make_groups(places)) {
    EXPECT_EQ(group.enroll().empty(), !group.limits_memory() && !group.limits_processes());
    return;
  }
  ASSERT_TRUE(group.limits_memory() && group.limits_processes());
  EXPECT_EQ(group.in_words(), "memory: control group v1; processes: control group v1, pid namespace, rlimit");
  Spawn spawn = shell("i=0; while [ $i -lt 3 ]; do sleep 60 & i=$((i+1)); done; /bin/true & wait $!");
  spawn.enroll = group.enroll();
  Result<Process> child = start(spawn);
  ASSERT_TRUE(child) << child.error().message();
  Result<ExitStatus> status = child->wait(std::chrono::seconds(20));
  ASSERT_TRUE(status);
  EXPECT_NE(status->shell_code(), 0);  // the fifth was refused
  EXPECT_FALSE(group.ran_out_of_memory());
  Paths made = groups_of_ours(places.processes);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(text_of(made[0] + "/pids.events").find("max 0"), std::string::npos);
  EXPECT_NE(text_of(made[0] + "/cgroup.procs"), "");  // the sleepers are there still
  EXPECT_EQ(groups_of_ours(places.memory).size(), 1U);
  group = Cgroup();
  EXPECT_TRUE(groups_of_ours(places.processes).empty());
  EXPECT_TRUE(groups_of_ours(places.memory).empty());
}

TEST(Cgroup, RunningOutOfMemoryIsTold) {
  CgroupPlaces places = places_here();
  Cgroup group = Cgroup::make({.memory = 1 << 25, .processes = 0, .always = false});
  if (!can_make_groups(places)) {
    EXPECT_FALSE(group.ran_out_of_memory());
    return;
  }
  // Only the one that takes the memory is in the group: whom else there the kernel ends isn't ours to say.
  Paths made = groups_of_ours(places.memory);
  ASSERT_EQ(made.size(), 1U);
  Spawn spawn = shell("sh -c 'echo $$ > " + made[0] + "/cgroup.procs; exec tail -n 1 /dev/zero'; echo $?");
  Result<Output> output = run_bounded(spawn, 1 << 16, std::chrono::seconds(20));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "137\n") << output->err;
  EXPECT_TRUE(group.ran_out_of_memory());
  std::uint64_t events = 0;
  EXPECT_EQ(::read(group.memory_event(), &events, sizeof events), static_cast<ssize_t>(sizeof events));
  EXPECT_GE(events, 1U);
}

// cgroup.kill is v2's, whatever controllers it has.
TEST(ControlGroup, IsKilledWhole) {
  CgroupPlaces places = places_here();
  std::vector<std::string> parents = places.unified;
  parents.push_back(places.processes);
  for (const std::string& parent : parents) {
    if (::geteuid() != 0 || parent.empty() || ::access(parent.c_str(), W_OK) != 0) continue;
    Result<ControlGroup> group = ControlGroup::make(parent);
    if (!group) continue;  // mounted read-only
    Spawn spawn = shell("trap '' TERM HUP; (trap '' TERM HUP; setsid sleep 60) & kill -STOP $$; sleep 60");
    spawn.enroll = {group->processes_file()};
    Result<Process> child = start(spawn);
    ASSERT_TRUE(child) << child.error().message();
    group->kill();
    Result<ExitStatus> status = child->wait(std::chrono::seconds(5));
    ASSERT_TRUE(status);
    EXPECT_EQ(status->shell_code(), 137) << parent;
    std::string path = group->path();
    EXPECT_TRUE(group->remove());
    EXPECT_FALSE(exists(path));
  }
}

// The name tells whose it was: dead ones go, everything else stays.
TEST(ControlGroup, SweepTakesDeadOnesOnly) {
  TemporaryDirectory temporary;
  std::string plain = temporary.path();
  Result<ControlGroup> mine = ControlGroup::make(plain);
  EXPECT_FALSE(mine);  // no cgroup filesystem
  std::string link(64, 0);
  ssize_t size = ::readlink("/proc/self/ns/pid", link.data(), link.size());
  std::string inode = link.substr(5, static_cast<std::size_t>(size) - 6);
  std::string stat = text_of("/proc/self/stat");
  std::string fields = stat.substr(stat.rfind(')') + 2);
  for (int i = 0; i < 19; ++i) fields = fields.substr(fields.find(' ') + 1);
  std::string own = std::to_string(::getpid());
  std::string started = fields.substr(0, fields.find(' '));
  const Paths dead = {"oncelatch-" + inode + "-" + own + "-7-1", "oncelatch-" + inode + "-4194300-7-1"};
  const Paths alive = {"oncelatch-" + inode + "-" + own + "-" + started + "-9",
                       "oncelatch-1-" + own + "-7-1",
                       "oncelatch-" + inode + "-" + own,
                       "oncelatch-" + inode + "-x-7-1",
                       "oncelatch-",
                       "other"};
  for (const Paths& list : {dead, alive})
    for (const std::string& name : list) ASSERT_EQ(::mkdir((plain + "/" + name).c_str(), 0755), 0) << name;
  sweep_groups(plain);
  for (const std::string& name : dead) EXPECT_FALSE(exists(plain + "/" + name)) << name;
  for (const std::string& name : alive) EXPECT_TRUE(exists(plain + "/" + name)) << name;
}

}  // namespace
}  // namespace oncelatch::sandbox
