// One rule of a policy file: its keys, its patterns and its tests.
#include <algorithm>
#include <array>

#include "base/untrusted.h"
#include "policy/evaluate.h"
#include "policy/hidden_text.h"
#include "policy/matching.h"
#include "policy/rules_loader.h"
#include "policy/shell_lexer.h"

namespace oncelatch::policy {
namespace {

constexpr std::size_t kMostPatternBytes = 1024;
constexpr std::size_t kMostPatterns = 1024;
constexpr std::size_t kMostIdBytes = 64;
constexpr std::size_t kMostReasonBytes = 1024;
constexpr std::size_t kShown = 80;

constexpr std::array<Capability, 6> kNamed{Capability::shell,     Capability::fs_read, Capability::fs_write,
                                           Capability::web_fetch, Capability::mcp,     Capability::subagent};

Result<std::vector<Capability>> capability_named(const YamlNode& node, std::string_view origin) {
  if (node.kind != YamlNode::Kind::scalar || node.is_null()) return refuse(origin, node, "a capability must be a name");
  std::vector<std::string_view> names{"all"};
  std::vector<Capability> every{kNamed.begin(), kNamed.end()};
  every.push_back(Capability::unknown);
  if (node.scalar == "all") return every;
  for (const Capability capability : kNamed) {
    names.push_back(capability_name(capability));
    if (node.scalar == capability_name(capability)) return std::vector<Capability>{capability};
  }
  const std::string nearest = nearest_word(node.scalar, names);
  return refuse(origin, node, "unknown capability " + escape_for_display(node.scalar, kShown),
                nearest.empty() ? "use shell, fs_read, fs_write, web_fetch, mcp, subagent or all"
                                : "did you mean " + nearest + "?");
}

Result<std::vector<Capability>> read_capabilities(const YamlNode& node, std::string_view origin) {
  if (node.kind != YamlNode::Kind::sequence) return capability_named(node, origin);
  std::vector<Capability> capabilities;
  for (const YamlNode& item : node.items) {
    const std::vector<Capability> one = TRY(capability_named(item, origin));
    if (one.size() != 1) return refuse(origin, item, "all stands alone, not in a list");
    if (std::find(capabilities.begin(), capabilities.end(), one.front()) != capabilities.end()) {
      return refuse(origin, item, "the capability " + item.scalar + " is named twice");
    }
    capabilities.push_back(one.front());
  }
  if (capabilities.empty()) return refuse(origin, node, "capability is empty");
  return capabilities;
}

std::string refuse_pattern(const Rule& rule, const TokenPattern& pattern, Capability capability) {
  switch (capability) {
    case Capability::fs_read:
    case Capability::fs_write:
      if (pattern.text.front() == '~') return "'~' isn't expanded; write the path out";
      return has_dot_dot(pattern.text) ? "a path pattern can't hold '..'" : "";
    case Capability::web_fetch:
      return is_for_all(rule) ? "" : refuse_url_pattern(pattern.text);
    case Capability::mcp: {
      const bool one_slash = std::count(pattern.text.begin(), pattern.text.end(), '/') == 1;
      return one_slash || pattern.text == "*" ? "" : "an mcp pattern is server/tool";
    }
    case Capability::shell:
    case Capability::subagent:
    case Capability::unknown:
      return {};
  }
  return {};
}

Result<TokenPattern> shell_pattern(const YamlNode& node, std::string_view origin, std::string text) {
  ShellTokens lexed = lex_shell(text, Stars::wildcard);
  if (!lexed.opaque.empty()) {
    return refuse(origin, node, "the pattern isn't one plain command (" + lexed.opaque + ")",
                  "quote what a shell would interpret; '*' is the only wildcard");
  }
  TokenPattern pattern;
  for (ShellToken& token : lexed.tokens) {
    if (token.kind != ShellToken::Kind::word) {
      return refuse(origin, node, "a pattern is one command, without && || ; |", "write one pattern for each command");
    }
    pattern.words.push_back(std::move(token.text));
  }
  if (pattern.words.empty()) return refuse(origin, node, "the pattern is empty");
  pattern.text = std::move(text);
  return pattern;
}

Result<TokenPattern> read_pattern(const YamlNode& node, std::string_view origin, const Rule& rule) {
  std::string text = TRY(read_text(node, origin, "a pattern", kMostPatternBytes));
  if (is_for_all(rule) && text != "*") {
    return refuse(origin, node, "a rule for all capabilities can only match \"*\"", "name the capability");
  }
  TokenPattern pattern;
  if (covers(rule, Capability::shell)) {
    pattern = TRY(shell_pattern(node, origin, std::move(text)));
  } else {
    pattern.words = {text};
    pattern.text = std::move(text);
  }
  for (const Capability capability : rule.capabilities) {
    const std::string why = refuse_pattern(rule, pattern, capability);
    if (!why.empty()) return refuse(origin, node, why);
  }
  return pattern;
}

Result<std::vector<TokenPattern>> read_patterns(const YamlNode& node, std::string_view origin, const Rule& rule,
                                                const std::string& key) {
  if (node.kind != YamlNode::Kind::sequence) return refuse(origin, node, key + " must be a list of patterns");
  if (node.items.empty()) return refuse(origin, node, key + " is empty", "write at least one pattern, or \"*\"");
  if (node.items.size() > kMostPatterns) return refuse(origin, node, key + " has more than 1,024 patterns");
  std::vector<TokenPattern> patterns;
  for (const YamlNode& item : node.items) patterns.push_back(TRY(read_pattern(item, origin, rule)));
  return patterns;
}

Result<std::string> read_id(const YamlNode* node, std::string_view origin, std::size_t number) {
  if (node == nullptr) return "rule-" + std::to_string(number);
  std::string id = TRY(read_text(*node, origin, "id", kMostIdBytes));
  const bool plain = std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
  if (!plain) return refuse(origin, *node, "an id is made of letters, digits, '-', '_' and '.'");
  return id;
}

Result<const YamlNode*> required(const YamlNode& rule, std::string_view origin, const std::string& key) {
  const YamlNode* node = rule.find(key);
  if (node == nullptr) return refuse(origin, rule, "the rule has no " + key);
  return node;
}

bool holds(const Rule& rule, const std::string& subject, Capability capability) {
  PermissionRequest request;
  request.capability = capability;
  request.subject = Untrusted(subject);
  request.subject_is_whole = true;
  const Facts facts{"/workspace", "/workspace"};
  const Decision decision = evaluate({rule}, Effect::ask, request, facts);
  if (rule.effect == Effect::allow) return decision.effect == Effect::allow;
  return std::any_of(decision.reasons.begin(), decision.reasons.end(),
                     [&](const Reason& reason) { return reason.rule == rule.id; });
}

Status run_list(const YamlNode& list, const Rule& rule, std::string_view origin, const std::string& key) {
  if (list.kind != YamlNode::Kind::sequence) return refuse(origin, list, "tests." + key + " must be a list");
  const bool expected = key == "match";
  for (const YamlNode& item : list.items) {
    if (item.kind != YamlNode::Kind::scalar || item.is_null()) return refuse(origin, item, "a test must be text");
    for (const Capability capability : rule.capabilities) {
      if (holds(rule, item.scalar, capability) == expected) continue;
      const std::string does = expected ? " doesn't match " : " matches ";
      return refuse(origin, item, "the test fails: rule " + rule.id + does + escape_for_display(item.scalar, kShown),
                    "correct the rule or the test");
    }
  }
  return {};
}

}  // namespace

Result<Rule> read_rule(const YamlNode& node, std::string_view origin, std::size_t number) {
  if (node.kind != YamlNode::Kind::mapping) return refuse(origin, node, "a rule must be a mapping");
  TRY(check_keys(node, origin, {"id", "capability", "match", "exclude", "effect", "reason", "tests"}));
  Rule rule;
  rule.id = TRY(read_id(node.find("id"), origin, number));
  const YamlNode* capability = TRY(required(node, origin, "capability"));
  const YamlNode* effect = TRY(required(node, origin, "effect"));
  const YamlNode* match = TRY(required(node, origin, "match"));
  rule.capabilities = TRY(read_capabilities(*capability, origin));
  rule.effect = TRY(read_effect(*effect, origin));
  rule.match = TRY(read_patterns(*match, origin, rule, "match"));
  if (const YamlNode* exclude = node.find("exclude"); exclude != nullptr) {
    if (is_for_all(rule))
      return refuse(origin, *exclude, "a rule for all capabilities can't exclude", "name the capability");
    rule.exclude = TRY(read_patterns(*exclude, origin, rule, "exclude"));
  }
  if (const YamlNode* reason = node.find("reason"); reason != nullptr) {
    rule.reason = TRY(read_text(*reason, origin, "reason", kMostReasonBytes));
  }
  return rule;
}

Status run_rule_tests(const YamlNode& node, const Rule& rule, std::string_view origin) {
  if (node.kind != YamlNode::Kind::mapping)
    return refuse(origin, node, "tests must be a mapping with match and not_match");
  TRY(check_keys(node, origin, {"match", "not_match"}));
  for (const std::string key : {"match", "not_match"}) {
    if (const YamlNode* list = node.find(key); list != nullptr) TRY(run_list(*list, rule, origin, key));
  }
  return {};
}

}  // namespace oncelatch::policy
