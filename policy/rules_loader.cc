#include "policy/rules_loader.h"

#include <algorithm>
#include <set>

#include "base/untrusted.h"
#include "policy/hidden_text.h"

namespace oncelatch::policy {
namespace {

constexpr YamlBounds kBounds{std::size_t{4} << 20, 16, 500'000};
constexpr std::size_t kMostRules = 10'000;
constexpr std::size_t kShown = 80;

Status read_version(const YamlNode* node, std::string_view origin) {
  if (node == nullptr || (node->kind == YamlNode::Kind::scalar && node->scalar == "1")) return {};
  return refuse(origin, *node, "version must be 1");
}

Status read_rules(const YamlNode& list, std::string_view origin, std::vector<Rule>& rules) {
  if (list.kind != YamlNode::Kind::sequence) return refuse(origin, list, "rules must be a list");
  if (list.items.size() > kMostRules) return refuse(origin, list, "more than 10,000 rules");
  std::set<std::string> ids;
  for (const YamlNode& item : list.items) {
    Rule rule = TRY(read_rule(item, origin, rules.size() + 1));
    if (!ids.insert(rule.id).second) {
      const YamlNode* id = item.find("id");
      return refuse(origin, id == nullptr ? item : *id, "the id " + rule.id + " is used twice",
                    "give each rule its own id");
    }
    if (const YamlNode* tests = item.find("tests"); tests != nullptr) TRY(run_rule_tests(*tests, rule, origin));
    rules.push_back(std::move(rule));
  }
  return {};
}

}  // namespace

Failure refuse(std::string_view origin, const YamlNode& node, std::string what, std::string try_next) {
  return fail("policy", yaml_place(origin, node), std::move(what), std::move(try_next));
}

Status check_keys(const YamlNode& mapping, std::string_view origin, const std::vector<std::string_view>& known) {
  for (const auto& entry : mapping.entries) {
    const std::string& key = entry.first.scalar;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string nearest = nearest_word(key, known);
    return refuse(origin, entry.first, "unknown key " + escape_for_display(key, kShown),
                  nearest.empty() ? std::string() : "did you mean " + nearest + "?");
  }
  return {};
}

Result<Effect> read_effect(const YamlNode& node, std::string_view origin) {
  static const std::vector<std::string_view> kNames{"allow", "ask", "deny"};
  if (node.kind != YamlNode::Kind::scalar) return refuse(origin, node, "an effect must be allow, ask or deny");
  for (const Effect effect : {Effect::allow, Effect::ask, Effect::deny}) {
    if (node.scalar == effect_name(effect)) return effect;
  }
  const std::string nearest = nearest_word(node.scalar, kNames);
  return refuse(origin, node, "unknown effect " + escape_for_display(node.scalar, kShown),
                nearest.empty() ? "use allow, ask or deny" : "did you mean " + nearest + "?");
}

Result<std::string> read_text(const YamlNode& node, std::string_view origin, std::string_view key, std::size_t most) {
  const std::string name(key);
  if (node.kind != YamlNode::Kind::scalar || node.is_null()) return refuse(origin, node, name + " must be text");
  if (node.scalar.empty()) return refuse(origin, node, name + " is empty");
  if (node.scalar.size() > most)
    return refuse(origin, node, name + " is longer than " + std::to_string(most) + " bytes");
  if (const std::string hidden = hidden_text(node.scalar); !hidden.empty()) {
    return refuse(origin, node, name + " holds a character that can't be seen (" + hidden + ")");
  }
  return node.scalar;
}

Result<LoadedRules> load_rules(std::string_view text, std::string_view origin) {
  const YamlNode root = TRY(parse_yaml(text, origin, kBounds));
  if (root.kind != YamlNode::Kind::mapping) {
    return refuse(origin, root, "a policy is a mapping with the key rules", "for no rules write: rules: []");
  }
  TRY(check_keys(root, origin, {"version", "rules", "default"}));
  TRY(read_version(root.find("version"), origin));
  LoadedRules loaded;
  if (const YamlNode* effect = root.find("default"); effect != nullptr) {
    loaded.default_effect = TRY(read_effect(*effect, origin));
    if (loaded.default_effect == Effect::allow) {
      return refuse(origin, *effect, "the default can't be allow", "use ask or deny, and rules for what is allowed");
    }
  }
  const YamlNode* rules = root.find("rules");
  if (rules == nullptr) return refuse(origin, root, "the key rules is missing", "for no rules write: rules: []");
  TRY(read_rules(*rules, origin, loaded.rules));
  return loaded;
}

}  // namespace oncelatch::policy
