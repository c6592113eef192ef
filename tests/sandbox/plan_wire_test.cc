// Writer and reader agree; a damaged message is refused and never read beyond its end.
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

#include "sandbox/plan_writer.h"

namespace oncelatch::sandbox {

namespace {

PlanFields example() {
  PlanFields fields;
  fields.sources = 2;
  fields.landlock_abi = 7;
  fields.processes = 512;
  fields.file_size = 1 << 20;
  fields.open_files = 64;
  fields.working_directory = "/ws";
  fields.program = "/opt/tool";
  fields.planted_directory = "/run/oncelatch-probe-1";
  fields.planted_abstract = "oncelatch-probe-1";
  fields.ports = {443, 80};
  fields.arguments = {"tool", "", "word"};
  fields.environment = {"A=1", "B="};
  View view;
  view.directory("/etc", 0755, Rights::read);
  view.file("/etc/passwd", std::string("root\0x", 6));
  view.link("/bin", "usr/bin");
  view.temporary("/tmp", 01777, Rights::read_write_execute);
  view.bind_path("/usr", "/usr", {.read_only = true, .directory = true}, Rights::read_execute);
  view.bind_source(0, "/ws", {.directory = true}, Rights::read_write);
  view.cover(EntryKind::protect, 1, "/ws/.git", true);
  fields.entries = *view.finish();
  return fields;
}

std::unique_ptr<WirePlan> parse(const std::string& bytes, bool* good) {
  // A copy of the exact size, so that the sanitizer sees a read beyond it.
  auto plan = std::make_unique<WirePlan>();
  std::vector<unsigned char> exact(bytes.begin(), bytes.end());
  *good = read_plan(exact.data(), exact.size(), *plan);
  return plan;
}

TEST(PlanWire, RoundTrip) {
  std::string bytes = write_plan(example());
  auto plan = std::make_unique<WirePlan>();
  ASSERT_TRUE(read_plan(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), *plan));
  EXPECT_EQ(plan->landlock_abi, 7);
  EXPECT_STREQ(plan->working_directory.data, "/ws");
  EXPECT_STREQ(plan->program.data, "/opt/tool");
  EXPECT_EQ(plan->port_count, 2U);
  EXPECT_EQ(plan->ports[1], 80);
  EXPECT_EQ(plan->arguments.count, 3U);
  const unsigned char* here = plan->arguments.first;
  EXPECT_STREQ(next_text(here).data, "tool");
  EXPECT_EQ(next_text(here).size, 0U);
  EXPECT_STREQ(next_text(here).data, "word");
  here = plan->environment.first;
  EXPECT_STREQ(next_text(here).data, "A=1");
  EXPECT_EQ(plan->entry_count, 7U);
  EXPECT_EQ(plan->entries[6].kind, EntryKind::protect);
  EXPECT_EQ(plan->entries[6].source, 1);
  EXPECT_STREQ(plan->entries[6].target.data, "/ws/.git");
}

TEST(PlanWire, EveryTruncationIsRefused) {
  std::string bytes = write_plan(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string cut = bytes.substr(0, size);
    if (size >= 12) {
      auto total = static_cast<std::uint32_t>(size);
      cut.replace(8, 4, reinterpret_cast<const char*>(&total), 4);
    }
    bool good = true;
    parse(cut, &good);
    EXPECT_FALSE(good) << size;
  }
  bool good = true;
  parse(bytes + "x", &good);
  EXPECT_FALSE(good);
}

TEST(PlanWire, RandomDamageIsNeverReadBeyondTheEnd) {
  std::string bytes = write_plan(example());
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    bool good = false;
    parse(damaged, &good);
  }
}

TEST(PlanWire, BadFieldsAreRefused) {
  using Change = void (*)(PlanFields&);
  const Change changes[] = {
      [](PlanFields& f) { f.arguments.clear(); },
      [](PlanFields& f) { f.sources = kMostSources + 1; },
      [](PlanFields& f) { f.seconds = kMostSeconds + 1; },
      [](PlanFields& f) { f.sources = 1; },  // an entry names source 1
      [](PlanFields& f) { f.working_directory = "relative"; },
      [](PlanFields& f) { f.program = "/a/../b"; },
      [](PlanFields& f) { f.planted_directory = ""; },
      [](PlanFields& f) { f.planted_abstract = std::string(101, 'x'); },
      [](PlanFields& f) { f.ports.assign(kMostPorts + 1, 1); },
      [](PlanFields& f) { f.arguments[0] = std::string("a\0b", 3); },
      [](PlanFields& f) { f.entries[0].target = "/"; },
      [](PlanFields& f) { f.entries[0].target = "/a//b"; },
      [](PlanFields& f) { f.entries[0].target = "/a/./b"; },
      [](PlanFields& f) { f.entries[0].target = "/" + std::string(5000, 'x'); },
      [](PlanFields& f) { f.entries[0].mode = 010000; },
      [](PlanFields& f) { f.entries[0].flags = kSharedOnly; },
      [](PlanFields& f) { f.entries[0].flags = kGuarded | kSharedOnly; },
      [](PlanFields& f) { f.entries[0].flags = kGitDirectory; },
      [](PlanFields& f) { f.own_branch.reference = "refs/heads/x"; },
      [](PlanFields& f) { f.own_branch.git_directory = "/ws/.git"; },
      [](PlanFields& f) {
        f.own_branch = {"ws/.git", "refs/heads/x"};
      },
      [](PlanFields& f) { f.entries[0].source = 0; },
      [](PlanFields& f) { f.entries[0].kind = static_cast<EntryKind>(kEntryKinds); },
      [](PlanFields& f) { f.entries[0].rights = static_cast<Rights>(kRightsKinds); },
      [](PlanFields& f) { f.entries[6].source = -1; },
      [](PlanFields& f) { f.entries.resize(kMostEntries + 1, f.entries[0]); },
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    PlanFields fields = example();
    changes[i](fields);
    bool good = true;
    parse(write_plan(fields), &good);
    EXPECT_FALSE(good) << i;
  }
}

TEST(PlanWire, CleanPaths) {
  for (const char* path : {"/a", "/a/b", "/a.b/..c", "/...", "/a/.git"})
    EXPECT_TRUE(clean_path(path, std::strlen(path))) << path;
  for (const char* path : {"", "/", "a", "/a/", "//a", "/a//b", "/.", "/..", "/a/..", "/a/./b", "/a/../b", "./a"})
    EXPECT_FALSE(clean_path(path, std::strlen(path))) << path;
}

TEST(PlanWire, TheBeginningIsWholeOrRefused) {
  const Beginning good{.magic = kPlanMagic,
                       .version = kPlanVersion,
                       .flags = kPlanHostNetwork | kPlanLandlockTier,
                       .uid = 1000,
                       .gid = 1001,
                       .shown_uid = 1,
                       .shown_gid = 2};
  WirePlan plan;
  ASSERT_TRUE(read_beginning(&good, sizeof good, plan));
  EXPECT_EQ(plan.flags, kPlanHostNetwork | kPlanLandlockTier);
  EXPECT_EQ(plan.uid, 1000U);
  EXPECT_EQ(plan.gid, 1001U);
  EXPECT_EQ(plan.shown_uid, 1U);
  EXPECT_EQ(plan.shown_gid, 2U);
  unsigned char bytes[sizeof good + 1] = {};
  std::memcpy(bytes, &good, sizeof good);
  for (std::size_t size = 0; size <= sizeof bytes; ++size)
    EXPECT_EQ(read_beginning(bytes, size, plan), size == sizeof good) << size;
  using Change = void (*)(Beginning&);
  for (Change change : {Change([](Beginning& b) { b.magic ^= 1; }), Change([](Beginning& b) { ++b.version; }),
                        Change([](Beginning& b) { b.flags = kPlanKnownFlags + 1; })}) {
    Beginning bad = good;
    change(bad);
    EXPECT_FALSE(read_beginning(&bad, sizeof bad, plan));
  }
}

// A seed of an older version would be refused at its head, and the fuzzer would begin with nothing.
TEST(PlanWire, TheFuzzersSeedsAreOfThisVersion) {
  auto seed = [](const char* name) {
    std::ifstream file(std::string(ONCELATCH_SOURCE_DIR) + "/fuzz/corpus/sandbox_plan/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (const char* name : {"every-entry", "long-text", "minimal"}) {
    bool good = false;
    parse(seed(name), &good);
    EXPECT_TRUE(good) << name;
  }
  for (const char* name : {"bad-magic", "truncated", "unclean-path"}) {
    bool good = true;
    parse(seed(name), &good);
    EXPECT_FALSE(good) << name;
  }
  Beginning beginning;
  const std::string bytes = seed("beginning");
  EXPECT_TRUE(read_beginning(bytes.data(), bytes.size(), beginning));
}

TEST(PlanWire, SealedInMemory) {
  Result<Fd> message = plan_in_memory(write_plan(example()));
  ASSERT_TRUE(message);
  char byte = 0;
  EXPECT_LT(::pwrite(message->get(), &byte, 1, 0), 0);
  EXPECT_FALSE(plan_in_memory(std::string(kMostPlanBytes + 1, 'x')));
}

}  // namespace
}  // namespace oncelatch::sandbox
