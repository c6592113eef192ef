// Reads a policy file strictly and runs the tests that stand in it.
//
//   LoadedRules loaded = TRY(load_rules(text, "policy.yaml"));
//
// Ownership: values. Threads: no state. Failure: the first error, object "policy.yaml:LINE:COLUMN", and nothing is
// loaded. Units: bounds in rules_loader.cc and rule_reader.cc. After fork: allocates.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/yaml.h"
#include "policy/rules.h"

namespace oncelatch::policy {

struct LoadedRules {
  std::vector<Rule> rules;
  Effect default_effect = Effect::ask;
};
[[nodiscard]] Result<LoadedRules> load_rules(std::string_view text, std::string_view origin);

// One entry of `rules:`. `number` counts from 1 and names a rule without id.
[[nodiscard]] Result<Rule> read_rule(const YamlNode& node, std::string_view origin, std::size_t number);
// The rule's own `tests:`, decided by the rule alone.
[[nodiscard]] Status run_rule_tests(const YamlNode& node, const Rule& rule, std::string_view origin);

// Shared by both: errors with a place, keys against a list.
[[nodiscard]] Failure refuse(std::string_view origin, const YamlNode& node, std::string what,
                             std::string try_next = {});
[[nodiscard]] Status check_keys(const YamlNode& mapping, std::string_view origin,
                                const std::vector<std::string_view>& known);
[[nodiscard]] Result<Effect> read_effect(const YamlNode& node, std::string_view origin);
[[nodiscard]] Result<std::string> read_text(const YamlNode& node, std::string_view origin, std::string_view key,
                                            std::size_t most);

}  // namespace oncelatch::policy
