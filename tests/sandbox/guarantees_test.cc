// What is claimed for a machine and a plan, and what is refused.
#include "sandbox/guarantees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

namespace oncelatch::sandbox {

namespace {

HostFacts machine(Tier tier, int abi = 7) {
  HostFacts facts;
  facts.landlock_abi = abi;
  facts.facts = {{"user-namespace", tier == Tier::full, true, "clone3: Operation not permitted", "allow them"},
                 {"seccomp-filter", tier != Tier::none, true, "x", "a newer kernel"},
                 {"creation-listener", tier == Tier::full, false, "x", "a newer kernel"}};
  return facts;
}

using Layers = std::vector<std::string>;

SandboxPlan ordinary(Network network = Network::none) {
  SandboxPlan plan;
  plan.uid = 1000;
  plan.network = network;
  return plan;
}

std::map<std::string, Guarantee> by_name(const HostFacts& facts, const SandboxPlan& plan) {
  std::map<std::string, Guarantee> result;
  for (const Guarantee& guarantee : guarantees(facts, plan)) result[guarantee.name] = guarantee;
  return result;
}

TEST(Guarantees, ElevenInEveryTierAndPlan) {
  const std::set<std::string> never = {"domain_allowlist"};
  for (Tier tier : {Tier::none, Tier::landlock, Tier::full}) {
    for (Network network : {Network::none, Network::loopback, Network::ports}) {
      std::vector<Guarantee> all = guarantees(machine(tier), ordinary(network));
      EXPECT_EQ(all.size(), 11U);
      for (const Guarantee& guarantee : all) {
        if (guarantee.layers.empty()) {
          EXPECT_FALSE(guarantee.limit.empty()) << guarantee.name;
        }
        bool by_plan_alone = guarantee.name == "explain" && tier != Tier::full;  // why answers for the full tier
        const bool by_listener = guarantee.name == "creation_guard" && tier != Tier::full;
        if (tier == Tier::none || never.contains(guarantee.name) || by_plan_alone || by_listener) {
          EXPECT_TRUE(guarantee.layers.empty()) << guarantee.name;
        }
      }
    }
  }
}

TEST(Guarantees, FullTierByNetwork) {
  HostFacts facts = machine(Tier::full);
  EXPECT_EQ(by_name(facts, ordinary())["network"].layers.size(), 2U);
  EXPECT_EQ(by_name(facts, ordinary(Network::loopback))["network"].layers, Layers{"network namespace"});
  EXPECT_EQ(by_name(facts, ordinary(Network::ports))["network"].layers, Layers{"landlock TCP ports"});
  EXPECT_EQ(by_name(facts, ordinary())["host_sockets"].layers.size(), 3U);
  EXPECT_EQ(by_name(facts, ordinary(Network::ports))["host_sockets"].layers.size(), 2U);
}

TEST(Guarantees, FollowPtraceMemoryAndUserZero) {
  HostFacts facts = machine(Tier::full);
  SandboxPlan plan = ordinary();
  EXPECT_EQ(by_name(facts, plan)["processes"].layers.size(), 3U);
  EXPECT_NE(by_name(facts, plan)["limits"].limit.find("memory isn't limited"), std::string::npos);
  plan.allow_ptrace = true;
  plan.limits.memory = 1 << 30;
  EXPECT_EQ(by_name(facts, plan)["processes"].layers.size(), 2U);
  EXPECT_NE(by_name(facts, plan)["processes"].limit.find("trace its own children"), std::string::npos);
  EXPECT_EQ(by_name(facts, plan)["limits"].layers.size(), 3U);
  EXPECT_EQ(by_name(facts, plan)["limits"].limit.find("memory isn't limited"), std::string::npos);
  EXPECT_NE(by_name(facts, plan)["limits"].limit.find("memory that nothing has mapped"), std::string::npos);
  plan.uid = 0;
  EXPECT_NE(by_name(facts, plan)["write_scope"].limit.find("user 0"), std::string::npos);
  EXPECT_EQ(by_name(machine(Tier::landlock), plan)["write_scope"].layers.size(), 0U);
  plan.uid = 1000;
  EXPECT_EQ(by_name(machine(Tier::landlock), plan)["write_scope"].layers.size(), 1U);
}

TEST(Guarantees, LandlockTierByAbi) {
  for (int abi = 4; abi <= 10; ++abi) {
    std::map<std::string, Guarantee> all = by_name(machine(Tier::landlock, abi), ordinary());
    EXPECT_EQ(all["processes"].layers.empty(), abi < 6) << abi;
    EXPECT_TRUE(all["deny_inside"].layers.empty()) << abi;
    EXPECT_EQ(all["network"].layers.size(), 1U) << abi;
    EXPECT_EQ(all["terminal"].layers.size(), 2U) << abi;
  }
  EXPECT_TRUE(by_name(machine(Tier::landlock), ordinary(Network::loopback))["network"].layers.empty());
  for (int abi = 0; abi <= 3; ++abi) EXPECT_EQ(machine(Tier::landlock, abi).tier(), Tier::none) << abi;
}

TEST(Requirements, TheFullTierMeetsTheDefaults) {
  for (Network network : {Network::none, Network::loopback, Network::ports}) {
    HostFacts facts = machine(Tier::full);
    EXPECT_TRUE(check_required(guarantees(facts, ordinary(network)), default_requirements(), {}, facts));
    EXPECT_TRUE(losses(guarantees(facts, ordinary(network)), default_requirements(), {"write_scope"}).empty());
  }
}

// A machine whose listener is taken, and a plan without the guard.
TEST(Requirements, WithoutAListenerTheGuardIsLostByName) {
  HostFacts facts = machine(Tier::full);
  facts.facts.back().holds = false;
  EXPECT_TRUE(by_name(facts, ordinary())["creation_guard"].layers.empty());
  Status refused = check_required(guarantees(facts, ordinary()), default_requirements(), {}, facts);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().try_next.find("--accept-loss creation_guard gives up: "), std::string::npos);
  EXPECT_TRUE(check_required(guarantees(facts, ordinary()), default_requirements(), {"creation_guard"}, facts));
  SandboxPlan plan = ordinary();
  plan.guard = false;
  EXPECT_TRUE(by_name(machine(Tier::full), plan)["creation_guard"].layers.empty());
}

TEST(Requirements, AMissingOneIsOneClearParagraph) {
  HostFacts facts = machine(Tier::landlock);
  std::vector<Guarantee> given = guarantees(facts, ordinary());
  Status refused = check_required(given, default_requirements(), {}, facts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value, ENOTSUP);
  EXPECT_EQ(refused.error().stage, "sandbox");
  const std::string& text = refused.error().try_next;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  for (const char* part : {"deny_inside (none of 2 layers", "write_scope (1 of 2 layers, landlock",
                           "lacks user-namespace", "clone3: Operation not permitted", "What helps: allow them",
                           "--accept-loss deny_inside gives up: it can read and change what is hidden"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("network ("), std::string::npos) << text;
}

TEST(Requirements, AcceptedLossesAreExactAndReported) {
  HostFacts facts = machine(Tier::landlock);
  std::vector<Guarantee> given = guarantees(facts, ordinary());
  std::vector<std::string> all = {"write_scope", "read_scope", "deny_inside", "creation_guard", "processes"};
  EXPECT_TRUE(check_required(given, default_requirements(), all, facts));
  std::vector<Loss> lost = losses(given, default_requirements(), all);
  ASSERT_EQ(lost.size(), 5U);
  for (const Loss& loss : lost) {
    EXPECT_FALSE(loss.gives_up.empty()) << loss.name;
    EXPECT_EQ(loss.required, 2U) << loss.name;
  }
  for (const std::string& name : all) {
    std::vector<std::string> others;
    for (const std::string& other : all)
      if (other != name) others.push_back(other);
    EXPECT_FALSE(check_required(given, default_requirements(), others, facts)) << name;
  }
}

TEST(Requirements, NothingIsAcceptedForAMachineThatCannotConfine) {
  HostFacts facts = machine(Tier::none);
  std::vector<Guarantee> given = guarantees(facts, ordinary());
  std::vector<std::string> all;
  for (const Guarantee& guarantee : given) all.push_back(guarantee.name);
  Status refused = check_required(given, default_requirements(), all, facts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value, ENOTSUP);
  EXPECT_FALSE(check_required(given, {}, all, facts));
}

TEST(Requirements, UnknownNamesAreRefusedWithTheNearest) {
  HostFacts facts = machine(Tier::full);
  std::vector<Guarantee> given = guarantees(facts, ordinary());
  Status required = check_required(given, {{"write_scop", 1}}, {}, facts);
  ASSERT_FALSE(required);
  EXPECT_EQ(required.error().errno_value, EINVAL);
  EXPECT_NE(required.error().try_next.find("write_scope"), std::string::npos);
  Status accepted = check_required(given, {}, {"proceses"}, facts);
  ASSERT_FALSE(accepted);
  EXPECT_NE(accepted.error().try_next.find("processes"), std::string::npos);
  EXPECT_FALSE(check_required(given, {}, {""}, facts));
  EXPECT_FALSE(check_required(given, {}, {std::string(100000, 'x')}, facts));
}

TEST(Requirements, WhatIsNeverGivenCanBeRequiredAndRefused) {
  HostFacts facts = machine(Tier::full);
  std::vector<Guarantee> given = guarantees(facts, ordinary());
  Status refused = check_required(given, {{"domain_allowlist", 1}}, {}, facts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value, ENOTSUP);
  EXPECT_TRUE(check_required(given, {{"domain_allowlist", 1}}, {"domain_allowlist"}, facts));
  EXPECT_EQ(losses(given, {{"domain_allowlist", 1}}, {"domain_allowlist"}).size(), 1U);
}

}  // namespace
}  // namespace oncelatch::sandbox
