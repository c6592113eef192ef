// What the engine returned. Deny over ask over allow; nothing else makes an allow.
//
// Ownership: values. Threads: values. Failure: none. After fork: allocates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::policy {

enum class Effect { allow, ask, deny };  // in rising severity
[[nodiscard]] std::string_view effect_name(Effect effect);

// One reason: a rule that matched a member, or a floor.
struct Reason {
  std::string rule;  // rule id; empty for a floor or the default
  Effect effect = Effect::ask;
  std::string member;  // display form of the member's argv or the subject
  std::string text;    // the rule's own reason, or why the floor holds
};

struct Member {
  std::vector<std::string> argv;  // after quote removal
  Effect effect = Effect::ask;
};

struct Decision {
  Effect effect = Effect::ask;
  std::vector<Reason> reasons;
  std::vector<Member> members;
  std::vector<std::string> floor;  // names of floors that applied ("opaque-shell", "subject-not-whole", …)
  std::string policy_sha256;       // of the policy text
};

}  // namespace oncelatch::policy
