// The decision over a list of rules; decide() adds the digest of the policy.
//
// Ownership: values; the rules are read during the call only. Threads: no state. Failure: none; what can't be
// understood is a floor, never an allow. After fork: allocates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/request.h"
#include "policy/rules.h"

namespace oncelatch::policy {

[[nodiscard]] Decision evaluate(const std::vector<Rule>& rules, Effect default_effect, const PermissionRequest& request,
                                const Facts& facts);

// Collects reasons and floors while a decision is made.
class DecisionBuilder {
 public:
  DecisionBuilder(const std::vector<Rule>& rules, Effect default_effect, const Facts& facts)
      : rules_(rules), default_(default_effect), facts_(facts) {}

  void floor(const std::string& name, Effect effect, const std::string& member, const std::string& text);
  void rule(const Rule& rule, const std::string& member);
  // A member's or the subject's own effect; the decision takes the most severe one.
  void effect(Effect effect);
  void no_rule(const std::string& member);
  void member(std::vector<std::string> argv, Effect effect);

  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }
  [[nodiscard]] Effect default_effect() const { return default_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] Decision finish() &&;

 private:
  void add(Reason reason);

  const std::vector<Rule>& rules_;
  Effect default_;
  const Facts& facts_;
  Decision decision_;
  bool judged_ = false;  // some effect was given
  Effect effect_ = Effect::allow;
};

void evaluate_shell(DecisionBuilder& builder, std::string_view command);

// Display form of one member or subject in a reason.
[[nodiscard]] std::string member_text(const std::vector<std::string>& argv);

}  // namespace oncelatch::policy
