// Shared by the tests of the policy room.
#pragma once

#include <string>
#include <vector>

#include "policy/rules.h"

namespace oncelatch::policy::testing {

inline constexpr const char* kWorkspace = "/repo/project";

// Rules from YAML; a refused text fails the test and gives no rules.
Rules rules_of(const std::string& yaml);
// Lines of the form "effect capability pattern"; "" stands for no rule.
std::string yaml_of(const std::vector<std::string>& lines);
Decision decide_on(const Rules& rules, Capability capability, const std::string& subject);
Effect shell_effect(const std::vector<std::string>& lines, const std::string& command);
std::string read_whole_file(const std::string& path);
bool has_floor(const Decision& decision, const std::string& name);

}  // namespace oncelatch::policy::testing
