#include "policy/rules_loader.h"

#include "tests/policy/support.h"

namespace oncelatch::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kWhole = R"(version: 1
rules:
  - id: read-only-git
    capability: shell
    match: ["git status *", "git diff *"]
    exclude: ["git diff --output *"]
    effect: allow
    reason: "Looking changes nothing."
    tests: {match: ["git status -s", "git status && git diff"], not_match: ["git push", "git status; id"]}
  - capability: [fs_read, fs_write]
    match: ["**/.env"]
    effect: deny
  - {capability: all, match: ["*"], effect: ask}
default: deny
)";

TEST(RulesLoader, ReadsEveryKey) {
  Result<Rules> rules = Rules::parse(kWhole, "policy.yaml");
  ASSERT_TRUE(rules) << rules.error().message();
  ASSERT_EQ(rules->all().size(), 3U);
  const Rule& first = rules->all()[0];
  EXPECT_EQ(first.id, "read-only-git");
  EXPECT_EQ(first.effect, Effect::allow);
  EXPECT_EQ(first.reason, "Looking changes nothing.");
  EXPECT_THAT(first.match[0].words, ElementsAre("git", "status", "*"));
  EXPECT_EQ(first.match[0].text, "git status *");
  EXPECT_EQ(first.exclude.size(), 1U);
  EXPECT_EQ(rules->all()[1].id, "rule-2");
  EXPECT_THAT(rules->all()[1].capabilities, ElementsAre(Capability::fs_read, Capability::fs_write));
  EXPECT_EQ(rules->all()[2].capabilities.size(), 7U);
  EXPECT_EQ(rules->default_effect(), Effect::deny);
  EXPECT_EQ(rules->text(), kWhole);
}

TEST(RulesLoader, TheDigestIsOfTheText) {
  Result<Rules> rules = Rules::parse("rules: []\n", "p");
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->sha256(), "e0dfa70eb69d47fe9cb2be8a4fcd53e74cf7fe26fcbb1f06912b57a9c028e4e0");
  EXPECT_EQ(rules->default_effect(), Effect::ask);
  PermissionRequest request;
  EXPECT_EQ(decide(*rules, request, {}).policy_sha256, rules->sha256());
}

struct Refused {
  std::string yaml;
  std::string place;  // LINE:COLUMN
  std::string what;
};

std::string rule_with(const std::string& rest) {
  return "rules:\n  - " + rest + "\n";
}

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& one : cases) {
    const Result<Rules> rules = Rules::parse(one.yaml, "policy.yaml");
    ASSERT_FALSE(rules) << one.yaml;
    EXPECT_EQ(rules.error().object, "policy.yaml:" + one.place) << one.yaml << rules.error().message();
    EXPECT_THAT(rules.error().message(), HasSubstr(one.what)) << one.yaml;
  }
}

TEST(RulesLoader, RefusesTheFileWithItsPlace) {
  expect_refused({
      {"[]\n", "1:1", "a policy is a mapping"},
      {"version: 1\nrulez: []\n", "2:1", "did you mean rules?"},
      {"version: 1\nsomething: []\n", "2:1", "unknown key something"},
      {"version: 2\nrules: []\n", "1:10", "version must be 1"},
      {"version: [1]\nrules: []\n", "1:10", "version must be 1"},
      {"version: 1\n", "1:1", "the key rules is missing"},
      {"rules: {}\n", "1:8", "rules must be a list"},
      {"rules: x\n", "1:8", "rules must be a list"},
      {"rules: []\ndefault: allow\n", "2:10", "the default can't be allow"},
      {"rules: []\ndefault: dny\n", "2:10", "did you mean deny?"},
      {"rules: []\ndefault: [ask]\n", "2:10", "an effect must be"},
      {"rules: []\nrules: []\n", "2:1", "duplicate"},
  });
}

TEST(RulesLoader, RefusesARuleWithItsPlace) {
  expect_refused({
      {"rules:\n  - x\n", "2:5", "a rule must be a mapping"},
      {rule_with("{capability: shell, efect: deny, match: ['a']}"), "2:25", "did you mean effect?"},
      {rule_with("{capability: shell, regex: 'a', effect: deny}"), "2:25", "unknown key regex"},
      {rule_with("{match: ['a'], effect: deny}"), "2:5", "the rule has no capability"},
      {rule_with("{capability: shell, match: ['a']}"), "2:5", "the rule has no effect"},
      {rule_with("{capability: shell, effect: deny}"), "2:5", "the rule has no match"},
      {rule_with("{capability: shel, match: ['a'], effect: deny}"), "2:18", "did you mean shell?"},
      {rule_with("{capability: quantum, match: ['a'], effect: deny}"), "2:18", "unknown capability quantum"},
      {rule_with("{capability: unknown, match: ['a'], effect: deny}"), "2:18", "unknown capability"},
      {rule_with("{capability: {}, match: ['a'], effect: deny}"), "2:18", "a capability must be a name"},
      {rule_with("{capability: ~, match: ['a'], effect: deny}"), "2:18", "a capability must be a name"},
      {rule_with("{capability: [], match: ['a'], effect: deny}"), "2:18", "capability is empty"},
      {rule_with("{capability: [mcp, mcp], match: ['a/b'], effect: deny}"), "2:24", "named twice"},
      {rule_with("{capability: [shell, all], match: ['*'], effect: deny}"), "2:26", "all stands alone"},
      {rule_with("{capability: shell, match: ['a'], effect: deni}"), "2:47", "did you mean deny?"},
      {rule_with("{capability: shell, match: ['a'], effect: maybe-not}"), "2:47", "unknown effect"},
      {rule_with("{capability: shell, match: ['a'], effect: {}}"), "2:47", "an effect must be"},
      {rule_with("{id: 'a b', capability: shell, match: ['a'], effect: deny}"), "2:10", "an id is made of"},
      {rule_with("{id: '', capability: shell, match: ['a'], effect: deny}"), "2:10", "id is empty"},
      {rule_with("{id: ~, capability: shell, match: ['a'], effect: deny}"), "2:10", "id must be text"},
      {rule_with("{id: [a], capability: shell, match: ['a'], effect: deny}"), "2:10", "id must be text"},
      {rule_with("{id: " + std::string(65, 'a') + ", capability: shell, match: ['a'], effect: deny}"), "2:10",
       "longer than 64"},
      {rule_with("{capability: shell, match: ['a'], effect: deny, reason: []}"), "2:61", "reason must be text"},
      {rule_with("{capability: shell, match: ['a'], effect: deny, reason: \"a\\eb\"}"), "2:61", "can't be seen"},
      {rule_with("{capability: shell, match: ['a'], effect: deny, effect: ask}"), "2:53", "duplicate"},
  });
}

TEST(RulesLoader, RefusesAPatternWithItsPlace) {
  expect_refused({
      {rule_with("{capability: shell, match: 'a', effect: deny}"), "2:32", "match must be a list"},
      {rule_with("{capability: shell, match: [], effect: deny}"), "2:32", "match is empty"},
      {rule_with("{capability: shell, match: [''], effect: deny}"), "2:33", "a pattern is empty"},
      {rule_with("{capability: shell, match: [' '], effect: deny}"), "2:33", "the pattern is empty"},
      {rule_with("{capability: shell, match: [~], effect: deny}"), "2:33", "a pattern must be text"},
      {rule_with("{capability: shell, match: [[a]], effect: deny}"), "2:33", "a pattern must be text"},
      {rule_with("{capability: shell, match: [\"a\\tb\"], effect: deny}"), "2:33", "can't be seen (control-character)"},
      {rule_with("{capability: shell, match: [\"a\\u202eb\"], effect: deny}"), "2:33",
       "can't be seen (hidden-character)"},
      {rule_with("{capability: shell, match: ['a', 'b && c'], effect: deny}"), "2:38", "a pattern is one command"},
      {rule_with("{capability: shell, match: ['a $x'], effect: deny}"), "2:33", "isn't one plain command (expansion)"},
      {rule_with("{capability: shell, match: ['a b?'], effect: deny}"), "2:33", "isn't one plain command (glob)"},
      {rule_with("{capability: shell, match: ['" + std::string(1025, 'a') + "'], effect: deny}"), "2:33",
       "longer than 1024"},
      {rule_with("{capability: shell, match: ['a'], exclude: [], effect: deny}"), "2:48", "exclude is empty"},
      {rule_with("{capability: shell, match: ['a'], exclude: ['b;c'], effect: deny}"), "2:49",
       "a pattern is one command"},
      {rule_with("{capability: fs_read, match: ['~/x'], effect: deny}"), "2:35", "'~' isn't expanded"},
      {rule_with("{capability: fs_write, match: ['a/../x'], effect: deny}"), "2:36", "can't hold '..'"},
      {rule_with("{capability: web_fetch, match: ['ftp://x'], effect: deny}"), "2:37", "only http and https"},
      {rule_with("{capability: web_fetch, match: ['a b'], effect: deny}"), "2:37", "the host isn't a name"},
      {rule_with("{capability: web_fetch, match: ['u@h'], effect: deny}"), "2:37", "the host isn't a name"},
      {rule_with("{capability: web_fetch, match: ['h:x'], effect: deny}"), "2:37", "the port isn't a number"},
      {rule_with("{capability: mcp, match: ['github'], effect: deny}"), "2:31", "an mcp pattern is server/tool"},
      {rule_with("{capability: all, match: ['git *'], effect: deny}"), "2:31", "can only match \"*\""},
      {rule_with("{capability: all, match: ['*'], exclude: ['*'], effect: deny}"), "2:46", "can't exclude"},
  });
}

TEST(RulesLoader, RefusesTwoRulesOfOneId) {
  expect_refused({
      {"rules:\n- {id: a, capability: shell, match: [a], effect: ask}\n- {id: a, capability: shell, match: [a], "
       "effect: ask}\n",
       "3:8", "used twice"},
      {"rules:\n- {id: rule-2, capability: shell, match: [a], effect: ask}\n- {capability: shell, match: [a], effect: "
       "ask}\n",
       "3:3", "used twice"},
  });
}

TEST(RulesLoader, RefusesTestsThatFailOrAreNoTests) {
  const std::string head = "{id: x, capability: shell, match: ['git push *'], effect: deny, tests: ";
  expect_refused({
      {rule_with(head + "{match: [git pull]}}"), "2:85", "rule x doesn't match git pull"},
      {rule_with(head + "{not_match: [cd a && git push -f]}}"), "2:89", "rule x matches cd a && git push -f"},
      {rule_with(head + "{matches: [git push]}}"), "2:77", "unknown key matches"},
      {rule_with(head + "[git push]}"), "2:76", "tests must be a mapping"},
      {rule_with(head + "{match: git push}}"), "2:84", "tests.match must be a list"},
      {rule_with(head + "{match: [[git push]]}}"), "2:85", "a test must be text"},
      {rule_with("{id: y, capability: shell, match: ['ls *'], effect: allow, tests: {match: ['ls; id']}}"), "2:80",
       "rule y doesn't match"},
  });
}

TEST(RulesLoader, ErrorsShowForeignTextEscaped) {
  const Result<Rules> rules = Rules::parse("rules: []\n\"x\\e[2J\": 1\n", "policy.yaml");
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().message().find('\x1b'), std::string::npos);
}

TEST(RulesLoader, RefusesTooManyPatternsAndRules) {
  std::string list;
  for (int count = 0; count < 1025; ++count) list += "a,";
  expect_refused(
      {{rule_with("{capability: shell, match: [" + list + "], effect: deny}"), "2:32", "more than 1,024 patterns"}});
  std::string rules = "rules:\n";
  for (int count = 0; count < 10'001; ++count) rules += "- {capability: shell, match: [a], effect: ask}\n";
  expect_refused({{rules, "2:1", "more than 10,000 rules"}});
}

TEST(RulesLoader, ThousandsOfRulesAreFine) {
  std::string yaml = "rules:\n";
  for (int count = 0; count < 5'000; ++count) {
    yaml += "- {capability: shell, match: ['program-" + std::to_string(count) + " *'], effect: allow}\n";
  }
  const Result<Rules> rules = Rules::parse(yaml, "policy.yaml");
  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_EQ(testing::decide_on(*rules, Capability::shell, "program-4999 x").effect, Effect::allow);
  EXPECT_EQ(testing::decide_on(*rules, Capability::shell, "program-5000 x").effect, Effect::ask);
}

}  // namespace
}  // namespace oncelatch::policy
