#include "tests/policy/support.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace oncelatch::policy::testing {

Rules rules_of(const std::string& yaml) {
  Result<Rules> rules = Rules::parse(yaml, "policy.yaml");
  if (!rules) {
    ADD_FAILURE() << rules.error().message() << "\n" << yaml;
    return {};
  }
  return *rules;
}

std::string yaml_of(const std::vector<std::string>& lines) {
  std::string yaml = "version: 1\nrules:";
  if (lines.empty()) yaml += " []";
  yaml += "\n";
  for (const std::string& line : lines) {
    const std::size_t first = line.find(' ');
    const std::size_t second = line.find(' ', first + 1);
    std::string pattern = line.substr(second + 1);
    for (std::size_t at = pattern.find('\''); at != std::string::npos; at = pattern.find('\'', at + 2)) {
      pattern.insert(at, 1, '\'');
    }
    yaml += "  - {capability: " + line.substr(first + 1, second - first - 1) + ", effect: " + line.substr(0, first) +
            ", match: ['" + pattern + "']}\n";
  }
  return yaml;
}

Decision decide_on(const Rules& rules, Capability capability, const std::string& subject) {
  PermissionRequest request;
  request.capability = capability;
  request.subject = Untrusted(subject);
  request.subject_is_whole = true;
  return decide(rules, request, Facts{kWorkspace, kWorkspace});
}

Effect shell_effect(const std::vector<std::string>& lines, const std::string& command) {
  return decide_on(rules_of(yaml_of(lines)), Capability::shell, command).effect;
}

std::string read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) ADD_FAILURE() << "can't read " << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool has_floor(const Decision& decision, const std::string& name) {
  return std::find(decision.floor.begin(), decision.floor.end(), name) != decision.floor.end();
}

}  // namespace oncelatch::policy::testing
