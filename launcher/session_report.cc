#include "launcher/session_report.h"

#include <unistd.h>

#include "base/untrusted.h"
#include "launcher/plan.h"
#include "sandbox/guarantees.h"

namespace oncelatch::launcher {

namespace {

Json network_body(const LaunchConfig& config) {
  if (config.network == sandbox::Network::none) return {{"mode", "none"}};
  if (config.network == sandbox::Network::loopback) return {{"mode", "loopback"}};
  return {{"mode", "ports"}, {"tcp_connect_ports", config.ports}, {"open", "UDP, and any host on these ports"}};
}

}  // namespace

Json host_facts_body(const sandbox::HostFacts& facts, const sandbox::SandboxPlan& plan) {
  Json guarantees = Json::array();
  for (const sandbox::Guarantee& one : sandbox::guarantees(facts, plan)) {
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
          {"network", network_body(config)},
          {"accepted_losses", config.options.accepted_losses},
          {"caller_uid", ::getuid()},
          {"confined_uid", config.identity.uid},
          {"identity_loss", config.identity.loss},
          {"sandbox", host_facts_body(facts, make_plan(config, "/session", artifact.path()).sandbox)}};
}

Json self_test_body(const std::vector<sandbox::SelfTestResult>& results) {
  Json all = Json::array();
  for (const sandbox::SelfTestResult& one : results) {
    all.push_back({{"name", one.name}, {"refused", one.refused}, {"errno", one.errno_value}});
  }
  return {{"probes", all}};
}

Json host_effects_body(const AfterRunReport& seen, std::size_t most) {
  Json all = Json::array();
  for (const HostEffect& one : seen.effects) {
    if (all.size() == most) break;
    Json effect = {
        {"path", one.path}, {"guard", one.guard}, {"kind", one.kind}, {"reason", one.reason}, {"change", one.change}};
    if (!one.line.empty()) effect["line"] = one.line;
    if (one.line_number != 0) effect["line_number"] = one.line_number;
    if (!one.quarantined.empty()) effect["quarantined"] = one.quarantined;
    all.push_back(std::move(effect));
  }
  return all;
}

}  // namespace oncelatch::launcher
