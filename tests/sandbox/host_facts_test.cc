#include "sandbox/host_facts.h"

#include <sys/utsname.h>

#include <algorithm>
#include <set>

#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

TEST(HostFacts, ThisMachine) {
  HostFacts facts = probe_host();
  utsname name{};
  ASSERT_EQ(::uname(&name), 0);
  EXPECT_EQ(facts.kernel, name.release);
  for (const Fact& fact : facts.facts) {
    EXPECT_FALSE(fact.detail.empty()) << fact.name;
    EXPECT_FALSE(fact.advice.empty()) << fact.name;
    std::printf("%-18s %s (%s)\n", fact.name.c_str(), fact.holds ? "yes" : "NO", fact.detail.c_str());
  }
  EXPECT_EQ(facts.tier() == Tier::full, facts.missing().empty());
  if (must_confine()) {
    EXPECT_EQ(facts.tier(), Tier::full) << facts.missing();
  }
}

TEST(HostFacts, NothingProbedIsNoTier) {
  HostFacts facts;
  EXPECT_EQ(facts.tier(), Tier::none);
  for (const Guarantee& guarantee : facts.guarantees()) EXPECT_TRUE(guarantee.layers.empty());
}

TEST(HostFacts, OneMissingRequiredFactIsNoTierAndOneParagraph) {
  HostFacts facts;
  facts.facts = {{"a", true, true, "available", "x"},
                 {"b", false, true, "ABI 4", "a newer kernel"},
                 {"c", false, false, "d", "e"}};
  EXPECT_EQ(facts.tier(), Tier::none);
  EXPECT_EQ(facts.missing(),
            "This machine lacks b (ABI 4), so the program can't be confined. What helps: a newer kernel.");
  facts.facts[1].holds = true;
  EXPECT_EQ(facts.tier(), Tier::full);
  EXPECT_EQ(facts.missing(), "");
}

TEST(HostFacts, GuaranteesOfTheFullTier) {
  HostFacts facts;
  facts.facts = {{"a", true, true, "", ""}};
  std::set<std::string> not_given = {"creation_guard", "domain_allowlist", "explain"};
  std::set<std::string> two_layers = {"write_scope", "read_scope", "deny_inside", "processes", "terminal"};
  std::vector<Guarantee> all = facts.guarantees();
  EXPECT_EQ(all.size(), 11U);
  for (const Guarantee& guarantee : all) {
    EXPECT_EQ(guarantee.layers.empty(), not_given.contains(guarantee.name)) << guarantee.name;
    if (two_layers.contains(guarantee.name)) {
      EXPECT_GE(guarantee.layers.size(), 2U) << guarantee.name;
    }
    if (guarantee.layers.empty()) {
      EXPECT_FALSE(guarantee.limit.empty()) << guarantee.name;
    }
  }
}

TEST(HostFacts, TierNames) {
  EXPECT_EQ(tier_name(Tier::full), "full");
  EXPECT_EQ(tier_name(Tier::none), "none");
}

}  // namespace
}  // namespace oncelatch::sandbox
