#include <fmt/core.h>

#include "base/process.h"
#include "base/untrusted.h"
#include "elicitation/tmux_server.h"
#include "launcher/commands.h"
#include "launcher/errors.h"
#include "launcher/exit_codes.h"
#include "launcher/session_report.h"
#include "sandbox/enter.h"
#include "sandbox/guarantees.h"
#include "sandbox/host_facts.h"
#include "sandbox/narrow.h"

namespace oncelatch::launcher {
namespace {

// tmux says its version from behind the rules that its clients get.
Status try_confined(const std::string& tmux) {
  Spawn spawn;
  spawn.argv = TRY(sandbox::narrow_tmux_client(tmux, "/", ""));
  spawn.path = spawn.argv.front();
  spawn.argv.emplace_back("-V");
  const Output output = TRY(run_bounded(std::move(spawn), 4096, std::chrono::seconds(5)));
  if (output.status.shell_code() == 0) return {};
  return fail("tmux", "confined", escape_for_display(output.err, 200), "reinstall tmux from the system's packages");
}

sandbox::Fact confined_fact(const std::string& tmux) {
  const Status tried = try_confined(tmux);
  if (tried) return {"tmux-confined", true, true, "runs behind oncelatch-narrow", ""};
  return {"tmux-confined", false, true, tried.error().what, tried.error().try_next};
}

// What lies outside the kernel: tmux and our own companion programs.
std::vector<sandbox::Fact> program_facts() {
  std::vector<sandbox::Fact> facts;
  Result<elicitation::TmuxProgram> tmux = elicitation::find_tmux();
  facts.push_back({"tmux", static_cast<bool>(tmux), true, tmux ? tmux->path + " " + tmux->version : tmux.error().what,
                   tmux ? "" : tmux.error().try_next});
  if (tmux) facts.push_back(confined_fact(tmux->path));
  for (const char* name : {"oncelatch-exec", "oncelatch-narrow", "oncelatch-relay"}) {
    Result<std::string> path = sandbox::find_companion(name);
    facts.push_back(
        {name, static_cast<bool>(path), true, path ? *path : path.error().what, path ? "" : path.error().try_next});
  }
  return facts;
}

void print_facts(const std::vector<sandbox::Fact>& facts) {
  for (const sandbox::Fact& one : facts) {
    const char* mark = one.holds ? "ok" : (one.required ? "MISSING" : "no");
    fmt::print("  {:<8} {:<24} {}\n", mark, one.name, one.detail);
    if (!one.holds && !one.advice.empty()) fmt::print("           try: {}\n", one.advice);
  }
}

void print_guarantees(const sandbox::HostFacts& host) {
  fmt::print("\nguarantees of the {} tier\n", sandbox::tier_name(host.tier()));
  for (const sandbox::Guarantee& one : sandbox::guarantees(host, plan_of_guarantees())) {
    std::string layers;
    for (const std::string& layer : one.layers) layers += (layers.empty() ? "" : ", ") + layer;
    fmt::print("  {:<18} {}\n", one.name, layers.empty() ? "not given" : layers);
    if (!one.limit.empty()) fmt::print("  {:<18} limit: {}\n", "", one.limit);
  }
}

}  // namespace

int doctor(bool json) {
  sandbox::HostFacts host = sandbox::probe_host();
  std::vector<sandbox::Fact> programs = program_facts();
  bool ready = host.tier() == sandbox::Tier::full;
  for (const sandbox::Fact& one : programs) ready = ready && one.holds;
  if (json) {
    sandbox::HostFacts all = host;
    all.facts.insert(all.facts.end(), programs.begin(), programs.end());
    Json body = host_facts_body(all);
    body["tier"] = sandbox::tier_name(host.tier());
    body["ready"] = ready;
    fmt::print("{}\n", dump_json(body));
    return ready ? 0 : kExitGuarantee;
  }
  fmt::print("kernel {}, Landlock ABI {}, tier: {}\n\n", host.kernel, host.landlock_abi,
             sandbox::tier_name(host.tier()));
  print_facts(host.facts);
  print_facts(programs);
  print_guarantees(host);
  fmt::print("\n{}\n", ready ? "Ready: oncelatch run will confine the agent with all of this."
                             : "Not ready: oncelatch run refuses until what is MISSING is there.");
  return ready ? 0 : kExitGuarantee;
}

}  // namespace oncelatch::launcher
