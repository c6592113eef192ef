// The table against the kernel's own answer: what an ABI knows is accepted, one bit more isn't.
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/host_probes.h"
#include "sandbox/landlock_abi.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

int create(const landlock::RulesetAttribute& attribute) {
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attribute, sizeof attribute, 0));
}

TEST(LandlockAbi, RightsGrowWithTheAbi) {
  EXPECT_EQ(landlock::known_file_rights(0), 0U);
  EXPECT_EQ(landlock::known_file_rights(1), 0x1fffU);
  EXPECT_EQ(landlock::known_file_rights(2), 0x3fffU);
  EXPECT_EQ(landlock::known_file_rights(3), 0x7fffU);
  EXPECT_EQ(landlock::known_file_rights(4), 0x7fffU);
  EXPECT_EQ(landlock::known_file_rights(5), 0xffffU);
  EXPECT_EQ(landlock::known_file_rights(7), 0xffffU);
  EXPECT_EQ(landlock::known_net_rights(3), 0U);
  EXPECT_EQ(landlock::known_net_rights(4), 3U);
  EXPECT_EQ(landlock::known_scopes(5), 0U);
  EXPECT_EQ(landlock::known_scopes(6), 3U);
  // Beyond the kernels at hand: the constants alone.
  EXPECT_EQ(landlock::known_file_rights(9), 0x1ffffU);
  EXPECT_EQ(landlock::known_file_rights(10), 0x1ffffU);
  EXPECT_EQ(landlock::known_net_rights(9), 3U);
  EXPECT_EQ(landlock::known_net_rights(10), 15U);
  EXPECT_EQ(landlock::known_scopes(10), 3U);
  int expected = 1;
  for (const landlock::AbiRow& row : landlock::kAbiTable) EXPECT_EQ(row.abi, expected++);
  EXPECT_EQ(expected, landlock::kNewestAbi + 1);
}

TEST(LandlockAbi, TableMatchesThisKernel) {
  int abi = probes::landlock_abi();
  if (abi < landlock::kRequiredAbi) SKIP_OR_FAIL("no Landlock ABI 6 here");
  landlock::RulesetAttribute attribute{landlock::known_file_rights(abi), landlock::known_net_rights(abi),
                                       landlock::known_scopes(abi)};
  int fd = create(attribute);
  EXPECT_GE(fd, 0);
  ::close(fd);
  if (abi > 7) return;  // beyond, the kernel may know more than the table
  attribute.handled_access_fs = (attribute.handled_access_fs << 1) | 1;
  EXPECT_LT(create(attribute), 0);
}

}  // namespace
}  // namespace oncelatch::sandbox
