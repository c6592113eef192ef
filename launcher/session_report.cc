#include "launcher/session_report.h"

#include <unistd.h>

#include "base/untrusted.h"
#include "sandbox/guarantees.h"

namespace oncelatch::launcher {

sandbox::SandboxPlan plan_of_guarantees() {
  sandbox::SandboxPlan plan;
  plan.uid = ::geteuid();
  plan.network = sandbox::Network::ports;
  return plan;
}

Json host_facts_body(const sandbox::HostFacts& facts) {
  Json guarantees = Json::array();
  for (const sandbox::Guarantee& one : sandbox::guarantees(facts, plan_of_guarantees())) {
    guarantees.push_back({{"name", one.name}, {"layers", one.layers}, {"limit", one.limit}});
  }
  Json list = Json::array();
  for (const sandbox::Fact& one : facts.facts) {
    list.push_back({{"name", one.name},
                    {"holds", one.holds},
                    {"required", one.required},
                    {"detail", one.detail},
                    {"advice", one.advice}});
  }
  return {{"kernel", facts.kernel},
          {"landlock_abi", facts.landlock_abi},
          {"tier", sandbox::tier_name(facts.tier())},
          {"facts", list},
          {"guarantees", guarantees}};
}

Json session_start_body(const LaunchConfig& config, const VerifiedArtifact& artifact, const sandbox::HostFacts& facts,
                        const std::string& policy_sha256) {
  Json arguments = Json::array();
  for (const std::string& one : config.options.arguments) arguments.push_back(escape_for_display(one, 400));
  return {{"agent", config.agent->name},
          {"artifact",
           {{"path", escape_for_display(artifact.path(), 400)},
            {"sha256", artifact.sha256()},
            {"pinned", !config.options.sha256.empty()}}},
          {"workspace", escape_for_display(config.workspace, 400)},
          {"arguments", arguments},
          {"policy", {{"path", escape_for_display(config.options.policy, 400)}, {"sha256", policy_sha256}}},
          {"unattended", config.options.unattended},
          {"network", {{"host", true}, {"tcp_connect_ports", {443}}, {"open", "UDP, and any host on TCP 443"}}},
          {"caller_uid", ::getuid()},
          {"confined_uid", config.identity.uid},
          {"identity_loss", config.identity.loss},
          {"sandbox", host_facts_body(facts)}};
}

Json self_test_body(const std::vector<sandbox::SelfTestResult>& results) {
  Json all = Json::array();
  for (const sandbox::SelfTestResult& one : results) {
    all.push_back({{"name", one.name}, {"refused", one.refused}, {"errno", one.errno_value}});
  }
  return {{"probes", all}};
}

}  // namespace oncelatch::launcher
