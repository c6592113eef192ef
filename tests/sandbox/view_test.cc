#include "sandbox/view.h"

#include <cerrno>

#include "sandbox/etc_table.h"

namespace oncelatch::sandbox {

namespace {

std::vector<std::string> targets(const std::vector<ViewEntry>& entries) {
  std::vector<std::string> names;
  for (const ViewEntry& entry : entries) names.push_back(entry.target);
  return names;
}

const ViewEntry* find(const std::vector<ViewEntry>& entries, const std::string& target) {
  for (const ViewEntry& entry : entries)
    if (entry.target == target) return &entry;
  return nullptr;
}

TEST(View, ParentsComeFirstAndMissingOnesAreMade) {
  View view;
  view.bind_source(0, "/home/u/project", {.directory = true}, Rights::read_write);
  view.bind_source(1, "/home/agent", {.directory = true}, Rights::read_write);
  view.temporary("/tmp", 01777, Rights::read_write);
  Result<std::vector<ViewEntry>> entries = view.finish();
  ASSERT_TRUE(entries);
  EXPECT_EQ(targets(*entries),
            (std::vector<std::string>{"/home", "/home/agent", "/home/u", "/home/u/project", "/tmp"}));
  EXPECT_NE(find(*entries, "/home/u/project")->flags & kCreateTarget, 0);
}

TEST(View, WhatLiesInABoundDirectoryMustExistThere) {
  View view;
  view.bind_path("/usr", "/usr", {.read_only = true, .directory = true}, Rights::read_execute);
  view.bind_source(0, "/usr/src/app", {.directory = true}, Rights::read_write);
  Result<std::vector<ViewEntry>> entries = view.finish();
  ASSERT_TRUE(entries);
  EXPECT_EQ(targets(*entries), (std::vector<std::string>{"/usr", "/usr/src/app"}));
  EXPECT_EQ(find(*entries, "/usr/src/app")->flags & kCreateTarget, 0);
}

TEST(View, WorkspaceBelowTmp) {
  View view;
  view.temporary("/tmp", 01777, Rights::read_write);
  view.bind_source(0, "/tmp/a/b", {.directory = true}, Rights::read_write);
  Result<std::vector<ViewEntry>> entries = view.finish();
  ASSERT_TRUE(entries);
  EXPECT_EQ(targets(*entries), (std::vector<std::string>{"/tmp", "/tmp/a", "/tmp/a/b"}));
}

TEST(View, LaterEntriesReplaceEarlierOnes) {
  View view;
  view.bind_path("/usr", "/usr", {}, Rights::read_execute);
  view.bind_source(3, "/usr", {}, Rights::read);
  Result<std::vector<ViewEntry>> entries = view.finish();
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().source, 3);
}

TEST(View, ReservedAndImpossibleTargets) {
  for (const char* target : {"/proc", "/proc/sys", "/dev/null", "/dev", "/.empty/x", "/dev/shm"}) {
    View view;
    view.bind_source(0, target, {.directory = true}, Rights::read);
    Result<std::vector<ViewEntry>> entries = view.finish();
    ASSERT_FALSE(entries) << target;
    EXPECT_EQ(entries.error().errno_value, EINVAL);
  }
  View below_link;
  below_link.link("/bin", "usr/bin");
  below_link.bind_source(0, "/bin/x", {}, Rights::read);
  EXPECT_FALSE(below_link.finish());
  View in_memory;
  in_memory.bind_source(0, "/dev/shm/work", {.directory = true}, Rights::read_write);
  EXPECT_TRUE(in_memory.finish());
}

TEST(View, TooManyEntries) {
  View view;
  for (unsigned i = 0; i <= kMostEntries; ++i) view.directory("/d" + std::to_string(i), 0755, Rights::none);
  EXPECT_FALSE(view.finish());
}

TEST(View, LiesWithin) {
  EXPECT_TRUE(lies_within("/a/b", "/a"));
  EXPECT_TRUE(lies_within("/a", "/a"));
  EXPECT_TRUE(lies_within("/a", "/"));
  EXPECT_FALSE(lies_within("/ab", "/a"));
  EXPECT_FALSE(lies_within("/", "/a"));
}

TEST(Etc, HoldsNoSecretAndNothingOfTheHostsIdentity) {
  View view;
  add_etc(view, {.user = "dev", .home = "/home/agent", .uid = 1234, .gid = 1235, .host_network = false});
  Result<std::vector<ViewEntry>> entries = view.finish();
  ASSERT_TRUE(entries);
  for (const char* never : {"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/machine-id",
                            "/etc/gitconfig", "/etc/ssl", "/etc/ssl/private", "/etc/environment"}) {
    const ViewEntry* entry = find(*entries, never);
    EXPECT_TRUE(entry == nullptr || entry->kind == EntryKind::directory) << never;
  }
  EXPECT_EQ(
      find(*entries, "/etc/passwd")->text,
      "root:x:0:0:root:/:/bin/false\ndev:x:1234:1235::/home/agent:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n");
  EXPECT_EQ(find(*entries, "/etc/group")->text, "root:x:0:\ndev:x:1235:\nnogroup:x:65534:\n");
  EXPECT_EQ(find(*entries, "/etc/resolv.conf")->text, "") << "the host's resolver means nothing in an empty network";
}

}  // namespace
}  // namespace oncelatch::sandbox
