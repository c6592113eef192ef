#include "launcher/exec/report.h"

#include <sodium/crypto_hash_sha256.h>

#include "base/beneath.h"
#include "base/digits.h"
#include "base/json_text.h"
#include "base/untrusted.h"
#include "sandbox/guarantees.h"

namespace oncelatch::launcher {

namespace {

void put_list(JsonText& json, std::string_view name, const std::vector<std::string>& list) {
  json.key(name).open('[');
  for (const std::string& one : list) json.text(one);
  json.close(']');
}

std::string_view network_name(sandbox::Network network) {
  switch (network) {
    case sandbox::Network::none:
      return "none";
    case sandbox::Network::loopback:
      return "loopback";
    case sandbox::Network::ports:
      return "ports";
  }
  return "";
}

void put_plan(JsonText& json, const ExecPlan& plan) {
  const sandbox::SandboxPlan& inside = plan.sandbox;
  json.key("profile").text(plan.profile.name);
  json.key("workspace").text(inside.workspace);
  json.key("workspace_mode").text(inside.overlay ? "overlay" : "guard");
  json.key("program").text(plan.program);
  json.key("network").open('{').key("mode").text(network_name(inside.network)).key("tcp_connect_ports").open('[');
  for (std::uint16_t port : inside.connect_ports) json.number(port);
  json.close(']').close('}');
  json.key("environment").open('{');
  put_list(json, "set", plan.environment.set);
  put_list(json, "passed", plan.environment.passed);
  put_list(json, "dropped", plan.environment.dropped);
  json.close('}');
  put_list(json, "toolchains", plan.toolchains);
  put_list(json, "notes", plan.notes);
  put_list(json, "losses", plan.losses);
  json.key("limits").open('{');
  json.key("memory").number(static_cast<std::int64_t>(inside.limits.memory));
  json.key("processes").number(static_cast<std::int64_t>(inside.limits.processes));
  json.key("files").number(static_cast<std::int64_t>(inside.limits.open_files));
  json.key("file_size").number(static_cast<std::int64_t>(inside.limits.file_size));
  json.key("tmp").number(static_cast<std::int64_t>(inside.limits.temporary_bytes));
  json.key("seconds").number(static_cast<std::int64_t>(plan.seconds)).close('}');
}

// Of what the report says of the plan, mounts and covers included: two runs under the same rules have the same.
std::string plan_sha256(const ExecPlan& plan) {
  JsonText json;
  json.open('{');
  put_plan(json, plan);
  json.key("mounts").open('[');
  for (const sandbox::Bind& bind : plan.sandbox.binds)
    json.text(bind.target).number(bind.access == sandbox::Access::read_write ? 1 : 0);
  json.close(']').key("covers").open('[');
  for (const sandbox::Cover& cover : plan.sandbox.covers)
    json.text(cover.path).number(static_cast<std::int64_t>(cover.kind));
  json.close(']').key("held").number(static_cast<std::int64_t>(plan.sandbox.held));
  json.key("hold_builds").boolean(plan.sandbox.hold_builds).close('}');
  const std::string text = json.take();
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::string result;
  for (unsigned char byte : digest) result += hexadecimal(byte, 2);
  return result;
}

void put_facts(JsonText& json, const sandbox::HostFacts& facts, const sandbox::SandboxPlan& plan) {
  json.key("kernel").text(facts.kernel);
  json.key("landlock_abi").number(facts.landlock_abi);
  json.key("tier").text(sandbox::tier_name(facts.tier()));
  json.key("guarantees").open('[');
  for (const sandbox::Guarantee& one : sandbox::guarantees(facts, plan)) {
    json.open('{').key("name").text(one.name);
    put_list(json, "layers", one.layers);
    json.key("limit").text(one.limit).close('}');
  }
  json.close(']');
}

void put_self_test(JsonText& json, const std::vector<sandbox::SelfTestResult>& results) {
  json.key("self_test").open('[');
  for (const sandbox::SelfTestResult& one : results)
    json.open('{')
        .key("name")
        .text(one.name)
        .key("refused")
        .boolean(one.refused)
        .key("errno")
        .number(one.errno_value)
        .close('}');
  json.close(']');
}

// Here nobody is asked.
void put_held(JsonText& json, const ExecReport& report) {
  const sandbox::SandboxPlan& plan = report.plan->sandbox;
  const bool guarded = plan.guard && report.facts != nullptr && report.facts->can_guard();
  json.key("held_names").open('{').key("mode");
  json.text(guarded ? sandbox::kHeldNamesWords[static_cast<unsigned>(plan.held)] : "unguarded");
  if (guarded && report.refused_names != nullptr && plan.held == sandbox::HeldNames::refuse) {
    json.key("asked").number(0).key("allowed").number(0);
    json.key("refused").number(static_cast<std::int64_t>(report.refused_names->count()));
    json.key("names").open('[');
    for (const RefusedNames::Name& one : report.refused_names->names())
      json.open('{').key("path").text(one.path).key("use").text(one.use).close('}');
    json.close(']');
  }
  json.close('}');
}

// Paths are the workspace's own bytes; JsonText escapes what isn't UTF-8.
void put_after_run(JsonText& json, const AfterRunReport& seen) {
  json.key("host_effects_complete").boolean(seen.complete);
  json.key("host_effects").open('[');
  for (const HostEffect& one : seen.effects) {
    json.open('{').key("path").text(one.path).key("guard").text(one.guard).key("kind").text(one.kind);
    json.key("reason").text(one.reason).key("change").text(one.change);
    if (!one.line.empty()) json.key("line").text(one.line);
    if (one.line_number != 0) json.key("line_number").number(static_cast<std::int64_t>(one.line_number));
    if (!one.quarantined.empty()) json.key("quarantined").text(one.quarantined);
    json.close('}');
  }
  json.close(']');
}

}  // namespace

std::string exec_report_text(const ExecReport& report) {
  JsonText json;
  json.open('{');
  json.key("exit").open('{').key("code").number(report.code).key("reason").text(report.reason);
  if (report.refused_processes) json.key("limit_reached").text("processes");
  json.close('}');
  if (!report.error.empty()) json.key("error").text(report.error);
  put_list(json, "command", report.options->command);
  if (report.plan != nullptr) {
    put_plan(json, *report.plan);
    json.key("plan_sha256").text(plan_sha256(*report.plan));
    json.key("confined_uid").number(report.plan->sandbox.uid);
  }
  if (report.facts != nullptr && report.plan != nullptr) put_facts(json, *report.facts, report.plan->sandbox);
  if (report.self_test != nullptr) put_self_test(json, *report.self_test);
  if (report.plan != nullptr) put_held(json, report);
  if (!report.changes.empty()) json.key("changes").text(report.changes);
  if (report.after_run != nullptr) put_after_run(json, *report.after_run);
  json.close('}');
  return json.take() + "\n";
}

}  // namespace oncelatch::launcher
