#include "sandbox/host_facts.h"

#include <sys/utsname.h>

#include <fstream>
#include <map>
#include <sstream>

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
  facts.landlock_abi = 7;
  EXPECT_EQ(facts.tier(), Tier::none);
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
  facts.landlock_abi = 7;
  EXPECT_EQ(facts.tier(), Tier::full);
  EXPECT_EQ(facts.missing(), "");
}

// The table: what each tier needs.
TEST(HostFacts, TiersByFacts) {
  const std::vector<std::string> all = {"user-namespace", "network-namespace", "landlock", "seccomp-filter",
                                        "mount-calls",    "openat2",           "pidfd",    "process-children"};
  const std::map<std::string, Tier> without = {{"user-namespace", Tier::landlock},
                                               {"network-namespace", Tier::landlock},
                                               {"mount-calls", Tier::landlock},
                                               {"seccomp-filter", Tier::none},
                                               {"openat2", Tier::none},
                                               {"pidfd", Tier::none},
                                               {"process-children", Tier::full}};
  for (const auto& [missing, tier] : without) {
    HostFacts facts;
    facts.landlock_abi = 7;
    for (const std::string& name : all)
      facts.facts.push_back({name, name != missing, name != "process-children", "", ""});
    EXPECT_EQ(facts.tier(), tier) << missing;
    for (Fact& fact : facts.facts)
      if (fact.name == "user-namespace" || fact.name == "process-children") fact.holds = false;
    EXPECT_EQ(facts.tier(), Tier::none) << missing;
  }
}

TEST(HostFacts, TiersByAbi) {
  for (bool namespaces : {true, false}) {
    for (int abi = 0; abi <= 10; ++abi) {
      HostFacts facts;
      facts.landlock_abi = abi;
      facts.facts = {{"user-namespace", namespaces, true, "", ""}};
      Tier expected = abi < 4 ? Tier::none : (abi < 6 || !namespaces ? Tier::landlock : Tier::full);
      EXPECT_EQ(facts.tier(), expected) << abi << namespaces;
    }
  }
}

TEST(HostFacts, LoweredLandlockIsNotClaimed) {
  HostFacts facts = probe_host(Probing::quick);
  if (facts.landlock_abi < 6) SKIP_OR_FAIL("no Landlock ABI 6 here");
  int real = facts.landlock_abi;
  facts.lower_landlock(real + 1);
  EXPECT_EQ(facts.landlock_abi, real);  // never raised
  facts.lower_landlock(5);
  EXPECT_EQ(facts.landlock_abi, 5);
  EXPECT_NE(facts.tier(), Tier::full);
  EXPECT_NE(facts.missing().find("lacks landlock (ABI 5)"), std::string::npos) << facts.missing();
  EXPECT_EQ(facts.landlock_missing.front(), "scopes: abstract sockets and signals");
  facts.lower_landlock(0);
  EXPECT_EQ(facts.tier(), Tier::none);
}

TEST(HostFacts, NamesRightsAndErrata) {
  HostFacts facts = probe_host(Probing::quick);
  bool named = false;
  for (const Fact& fact : facts.facts) {
    if (fact.name == "landlock-newer-rights" && facts.landlock_abi < 9) {
      named = fact.detail.find("pathname sockets") != std::string::npos;
      EXPECT_FALSE(fact.required);
    }
    if (fact.name == "landlock-errata") {
      EXPECT_EQ(fact.holds, fact.detail == "all known ones fixed") << fact.detail;
    }
  }
  EXPECT_TRUE(named || facts.landlock_abi >= 9);
}

TEST(HostFacts, TheAppArmorProfileIsShipped) {
  std::ifstream file(ONCELATCH_SOURCE_DIR "/packaging/apparmor/oncelatch");
  std::stringstream text;
  text << file.rdbuf();
  for (const char* part :
       {"abi <abi/4.0>,", "userns,", "flags=(unconfined)", "/etc/apparmor.d/oncelatch", "oncelatch{,-exec}"})
    EXPECT_NE(text.str().find(part), std::string::npos) << part;
}

TEST(HostFacts, TierNames) {
  EXPECT_EQ(tier_name(Tier::full), "full");
  EXPECT_EQ(tier_name(Tier::landlock), "landlock");
  EXPECT_EQ(tier_name(Tier::none), "none");
}

}  // namespace
}  // namespace oncelatch::sandbox
