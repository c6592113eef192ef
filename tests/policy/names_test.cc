#include <set>

#include "policy/recorder.h"
#include "tests/policy/support.h"

namespace oncelatch::policy {
namespace {

TEST(PolicyNames, AreTheDocumentedWords) {
  EXPECT_EQ(effect_name(Effect::allow), "allow");
  EXPECT_EQ(effect_name(Effect::ask), "ask");
  EXPECT_EQ(effect_name(Effect::deny), "deny");
  EXPECT_EQ(capability_name(Capability::web_fetch), "web_fetch");
  EXPECT_EQ(capability_name(Capability::subagent), "subagent");
  EXPECT_EQ(capability_name(Capability::unknown), "unknown");
  EXPECT_EQ(decider_name(Decider::policy), "policy");
  EXPECT_EQ(decider_name(Decider::nobody), "nobody");
  EXPECT_EQ(verdict_name(Verdict::accept), "accept");
  EXPECT_EQ(verdict_name(Verdict::decline), "decline");
  EXPECT_EQ(outcome_name(Outcome::confirmed), "confirmed");
  EXPECT_EQ(outcome_name(Outcome::superseded), "superseded");
}

TEST(PolicyNames, OptionKindsRoundTripAndAnythingElseIsOther) {
  for (const OptionKind kind :
       {OptionKind::allow_once, OptionKind::allow_always, OptionKind::reject_once, OptionKind::reject_always}) {
    EXPECT_EQ(option_kind(option_kind_name(kind)), kind);
  }
  for (const char* name : {"", "other", "Allow_Once", "allow_once ", "allow", "reject"}) {
    EXPECT_EQ(option_kind(name), OptionKind::other) << name;
  }
}

TEST(PolicyNames, AValueOutsideTheEnumerationHasAName) {
  EXPECT_EQ(effect_name(static_cast<Effect>(99)), "invalid");
}

TEST(PolicyNames, OutcomesDiffer) {
  std::set<std::string_view> names;
  for (const Outcome outcome : {Outcome::confirmed, Outcome::contradicted, Outcome::elsewhere, Outcome::cancelled,
                                Outcome::failed, Outcome::superseded}) {
    names.insert(outcome_name(outcome));
  }
  EXPECT_EQ(names.size(), 6U);
}

}  // namespace
}  // namespace oncelatch::policy
