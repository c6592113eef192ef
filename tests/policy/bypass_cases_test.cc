// Every case of tests/cases/policy-bypass-cases.json: run by its id, or listed with the reason why it can't be yet.
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "tests/policy/support.h"

namespace oncelatch::policy::testing {
namespace {

using nlohmann::json;

// What a case needs beyond rules and one subject.
const std::map<std::string, std::string>& not_run() {
  static const std::map<std::string, std::string> listed{
      {"PB-014", "allows a redirection to /dev/null: redirections are opaque in this grammar"},
      {"PB-018", "allows a newline inside quotes: control characters are opaque in this grammar"},
      {"PB-020", "allows a redirection by a file rule: redirections are opaque in this grammar"},
      {"PB-158", "allows a redirection by a file rule: redirections are opaque in this grammar"},
      {"PB-170", "needs resolved paths in Facts"},
      {"PB-172", "needs resolved paths in Facts"},
      {"PB-184", "needs the key regex"},
      {"PB-185", "needs the key regex"},
      {"PB-186", "needs the key regex"},
      {"PB-188", "owner and mode of the policy file are checked by the launcher"},
      {"PB-189", "a change of the policy during evaluation is the launcher's"},
      {"PB-196", "tool aliases are mapped to a capability before a request is made"},
      {"PB-197", "needs an answer of a hook"},
      {"PB-198", "needs an answer of a hook"},
      {"PB-200", "needs a person's answer"},
      {"PB-201", "delivery"},
      {"PB-202", "delivery"},
      {"PB-204", "delivery"},
      {"PB-205", "delivery"},
      {"PB-206", "delivery"},
      {"PB-208", "delivery"},
      {"PB-209", "delivery"},
      {"PB-210", "delivery"},
      {"PB-212", "delivery"},
      {"PB-213", "delivery"},
      {"PB-214", "delivery"},
      {"PB-216", "delivery"},
      {"PB-217", "delivery"},
      {"PB-218", "delivery"},
      {"PB-220", "delivery"},
      {"PB-221", "delivery"},
  };
  return listed;
}

const json& all_cases() {
  static const json cases =
      json::parse(read_whole_file(ONCELATCH_CASES_DIR "/policy-bypass-cases.json"), nullptr, false);
  return cases;
}

std::vector<std::string> rule_lines(const json& input) {
  std::vector<std::string> lines;
  for (const json& line : input.value("rules", json::array())) lines.push_back(line.get<std::string>());
  return lines;
}

struct Subject {
  Capability capability;
  std::string text;
};

Subject subject_of(const json& input) {
  const std::string tool = input.value("tool", std::string());
  if (tool == "fs_read") return {Capability::fs_read, input.at("path")};
  if (tool == "fs_write") return {Capability::fs_write, input.at("path")};
  if (tool == "web_fetch") return {Capability::web_fetch, input.at("url")};
  if (tool == "mcp")
    return {Capability::mcp, input.at("server").get<std::string>() + "/" + input.at("name").get<std::string>()};
  EXPECT_EQ(tool, "shell");
  return {Capability::shell, input.at("command")};
}

using Engine = std::function<Effect(const json& input)>;

Effect policy_engine(const json& input) {
  const Subject subject = subject_of(input);
  const Effect effect = decide_on(rules_of(yaml_of(rule_lines(input))), subject.capability, subject.text).effect;
  const bool unattended = input.value("mode", std::string()) == "ci";  // the launcher turns an ask into a deny
  return unattended && effect == Effect::ask ? Effect::deny : effect;
}

bool must_hold(const std::string& must, Effect effect) {
  if (must == "not_allow") return effect != Effect::allow;
  if (must == "reject") return effect == Effect::deny;
  return must == effect_name(effect);
}

// The engine's answer when it is wrong.
std::optional<std::string> wrong(const json& test_case, const Engine& engine) {
  const json& input = test_case.at("input");
  const std::string must = test_case.at("must");
  if (input.contains("policy_yaml")) {
    const bool refused = !Rules::parse(input.at("policy_yaml").get<std::string>(), "policy.yaml");
    return must == "reject" && refused ? std::nullopt : std::optional<std::string>("loaded");
  }
  const Effect effect = engine(input);
  if (must_hold(must, effect)) return std::nullopt;
  return std::string(effect_name(effect));
}

TEST(BypassCases, EveryCaseIsRightOrListed) {
  ASSERT_TRUE(all_cases().is_array());
  std::set<std::string> ids;
  std::map<std::string, int> run_by_must;
  for (const json& test_case : all_cases()) {
    const std::string id = test_case.at("id");
    EXPECT_TRUE(ids.insert(id).second) << id << " stands twice in the file";
    if (not_run().count(id) != 0) continue;
    ++run_by_must[test_case.at("must")];
    const std::optional<std::string> got = wrong(test_case, policy_engine);
    EXPECT_FALSE(got.has_value()) << id << ": must be " << test_case.at("must") << ", is " << *got << "\n"
                                  << test_case.at("input").dump(2).substr(0, 2000) << "\n"
                                  << test_case.at("why");
  }
  for (const auto& entry : not_run()) EXPECT_EQ(ids.count(entry.first), 1U) << entry.first << " isn't in the file";
  int run = 0;
  for (const auto& entry : run_by_must) {
    run += entry.second;
    RecordProperty("run_" + entry.first, entry.second);
    std::printf("  %-10s %d run\n", entry.first.c_str(), entry.second);
  }
  std::printf("  %d run, %zu listed, %zu in the file\n", run, not_run().size(), ids.size());
  EXPECT_EQ(static_cast<std::size_t>(run) + not_run().size(), ids.size());
}

// Engines that are right on one side only must fail the suite.
TEST(BypassCases, ConstantEnginesFail) {
  for (const Effect constant : {Effect::allow, Effect::ask, Effect::deny}) {
    int failures = 0;
    for (const json& test_case : all_cases()) {
      if (not_run().count(test_case.at("id").get<std::string>()) != 0) continue;
      if (wrong(test_case, [&](const json&) { return constant; })) ++failures;
    }
    EXPECT_GT(failures, 10) << effect_name(constant);
  }
}

}  // namespace
}  // namespace oncelatch::policy::testing
