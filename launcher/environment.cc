#include "launcher/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "redact/redactor.h"

namespace oncelatch::launcher {
namespace {

constexpr std::string_view kAllowed[] = {"USER", "LOGNAME", "COLORTERM", "NO_COLOR",
                                         "LANG", "LC_ALL",  "LC_CTYPE",  "TZ"};
// They name files on the host that are not in the view: passing the name alone would only break the agent's own
// look-up.
constexpr std::string_view kLocators[] = {"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
                                          "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"};
// Not secret, but the credentials are of no use without them.
constexpr std::string_view kRegions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"};
constexpr const char* kSystemPath = "/usr/local/bin:/usr/bin:/bin";

template <class Range>
bool contains(const Range& range, std::string_view name) {
  return std::find(std::begin(range), std::end(range), name) != std::end(range);
}

bool names_utf8(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
  std::size_t dot = value.find('.');
  if (dot == std::string::npos) return false;
  std::string codeset = value.substr(dot + 1);
  return codeset.rfind("utf-8", 0) == 0 || codeset.rfind("utf8", 0) == 0;
}

bool passes(std::string_view name, const AgentProfile& agent) {
  if (contains(agent.dropped_variables, name) || contains(kLocators, name)) return false;
  return contains(kAllowed, name) || contains(kRegions, name) || redact::is_credential_name(name);
}

}  // namespace

std::vector<std::string> caller_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

std::string environment_value(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0) {
      return entry.substr(name.size() + 1);
    }
  }
  return {};
}

std::vector<std::string> agent_environment(const std::vector<std::string>& caller, const AgentProfile& agent,
                                           const InsidePaths& inside) {
  std::vector<std::string> result;
  std::vector<std::string> seen;
  bool utf8 = false;
  for (const std::string& entry : caller) {
    std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == entry.size()) continue;
    std::string name = entry.substr(0, equals);
    if (!passes(name, agent) || contains(seen, name)) continue;
    seen.push_back(name);
    if (name == "LC_ALL" || name == "LANG") utf8 = utf8 || names_utf8(entry.substr(equals + 1));
    result.push_back(entry);
  }
  if (!utf8) {
    result.erase(
        std::remove_if(result.begin(), result.end(),
                       [](const std::string& e) { return e.rfind("LC_ALL=", 0) == 0 || e.rfind("LANG=", 0) == 0; }),
        result.end());
    result.insert(result.end(), {"LANG=C.UTF-8", "LC_ALL=C.UTF-8"});
  }
  result.push_back("HOME=" + inside.home);
  result.push_back("PATH=" + inside.programs + ":" + kSystemPath);
  result.push_back("PWD=" + inside.workspace);
  result.emplace_back("SHELL=/bin/sh");
  result.emplace_back("TERM=screen-256color");
  result.emplace_back("TMPDIR=/tmp");
  result.push_back(std::string(agent.recorder_variable) + "=" + inside.recorder);
  result.push_back(std::string(agent.home_variable) + "=" + inside.home + "/" + std::string(agent.home_directory));
  return result;
}

}  // namespace oncelatch::launcher
