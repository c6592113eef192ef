#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/process.h"
#include "base/untrusted.h"
#include "elicitation/tmux_server.h"
#include "launcher/commands.h"
#include "launcher/doctor_probe.h"
#include "launcher/errors.h"
#include "launcher/exec/page.h"
#include "launcher/exit_codes.h"
#include "launcher/messages.h"
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
  const std::string said = output.err.substr(0, output.err.find('\n'));
  const bool ours = said.starts_with("oncelatch-narrow:");  // what it needs of the kernel has rows of its own
  return fail("tmux", "confined", escape_for_display(said, 200),
              ours ? "put right what else is missing" : "reinstall tmux from the system's packages");
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
  for (const char* name : {"oncelatch", "oncelatch-exec", "oncelatch-narrow", "oncelatch-relay"}) {
    Result<std::string> path = sandbox::find_companion(name);
    facts.push_back(
        {name, static_cast<bool>(path), true, path ? *path : path.error().what, path ? "" : path.error().try_next});
  }
  return facts;
}

void add_facts(Page& page, const std::vector<sandbox::Fact>& facts) {
  for (const sandbox::Fact& one : facts) {
    const char* mark = one.holds ? "ok" : (one.required ? "MISSING" : "no");
    page.row(fmt::format("{:<8} {}", mark, one.name), one.detail);
    if (!one.holds && !one.advice.empty()) page.row("", "try: " + one.advice);
  }
}

// As exec asks for it, under the identity that was found.
sandbox::SandboxPlan usual_plan(const DoctorProbe& probe) {
  sandbox::SandboxPlan plan;
  plan.uid = probe.identity.uid;
  plan.gid = probe.identity.gid;
  plan.idmapped = probe.identity.idmapped;
  plan.limits.memory = 1;
  return plan;
}

// What run and exec require by default and this machine doesn't hold.
std::vector<sandbox::Loss> missing_of(const std::vector<sandbox::Guarantee>& given) {
  std::vector<std::string> all;
  for (const sandbox::Guarantee& one : given) all.push_back(one.name);
  return sandbox::losses(given, sandbox::default_requirements(), all);
}

void add_guarantees(Page& page, const sandbox::HostFacts& host, const std::vector<sandbox::Guarantee>& given) {
  const std::vector<sandbox::Loss> missing = missing_of(given);
  page.title(fmt::format("guarantees of the {} tier, and the layers that hold each", sandbox::tier_name(host.tier())));
  for (const sandbox::Guarantee& one : given) {
    std::string layers;
    for (const std::string& layer : one.layers) layers += (layers.empty() ? "" : ", ") + layer;
    auto lost =
        std::find_if(missing.begin(), missing.end(), [&](const sandbox::Loss& loss) { return loss.name == one.name; });
    const std::string needed = lost == missing.end() ? "" : fmt::format("; needs {}: MISSING", lost->required);
    page.row(one.name, (layers.empty() ? "not given" : layers) + needed);
    if (lost != missing.end()) page.row("", "lost: " + lost->gives_up);
    if (!one.limit.empty()) page.row("", "limit: " + one.limit);
    if (!one.instead.empty()) page.row("", "try: " + one.instead);
  }
}

std::string identity_words(const sandbox::Identity& identity) {
  if (::geteuid() != 0) return fmt::format("you, user {}; nothing else is possible without root", identity.uid);
  if (identity.idmapped)
    return fmt::format("kernel user {} that nobody else has, a new one each time, shown as {}", identity.uid,
                       identity.shown_uid);
  return identity.uid == 0 ? "root itself, without capabilities"
                           : fmt::format("the workspace's owner, user {}", identity.uid);
}

void add_identity(Page& page, const DoctorProbe& probe) {
  page.title("who the sandbox runs as");
  page.row("user", identity_words(probe.identity));
  std::string mapped = probe.identity.idmapped ? "used: files keep their owners on both sides" : "not used";
  page.row("idmapped mounts", ::geteuid() == 0 ? mapped : "not needed: files are yours on both sides");
  if (!probe.identity.loss.empty()) page.row("loss", probe.identity.loss);
  page.title("what counts");
  page.row("limits", probe.limits.empty() ? "unknown: no sandbox could be made" : probe.limits);
}

void add_self_test(Page& page, const DoctorProbe& probe, sandbox::Tier tier) {
  page.title("self-test, in a real sandbox made just now: what must fail, and by which layer");
  for (const sandbox::SelfTestResult& one : probe.self_test)
    page.row(fmt::format("{:<8} {}", one.refused ? "refused" : "DONE", one.name),
             fmt::format("{}; {}", one.refused ? std::strerror(one.errno_value) : "IT SUCCEEDED past",
                         proved_by(one.name, tier)));
  if (probe.error.empty()) return;
  page.row("FAILED", probe.error);
  if (!probe.try_next.empty()) page.row("", "try: " + probe.try_next);
}

Json probe_body(const DoctorProbe& probe, sandbox::Tier tier) {
  Json probes = Json::array();
  for (const sandbox::SelfTestResult& one : probe.self_test)
    probes.push_back({{"name", one.name},
                      {"refused", one.refused},
                      {"errno", one.errno_value},
                      {"layers", std::string(proved_by(one.name, tier))}});
  return {{"held", probe.error.empty()}, {"error", probe.error}, {"probes", probes}};
}

std::string as_json(const sandbox::HostFacts& host, const std::vector<sandbox::Fact>& programs,
                    const DoctorProbe& probe, const std::vector<sandbox::Guarantee>& given, bool ready) {
  sandbox::HostFacts all = host;
  all.facts.insert(all.facts.end(), programs.begin(), programs.end());
  Json body = host_facts_body(all, usual_plan(probe));
  body["tier"] = sandbox::tier_name(host.tier());
  body["ready"] = ready;
  body["identity"] = {{"uid", probe.identity.uid},
                      {"gid", probe.identity.gid},
                      {"shown_uid", probe.identity.shown_uid},
                      {"shown_gid", probe.identity.shown_gid},
                      {"idmapped", probe.identity.idmapped},
                      {"loss", probe.identity.loss}};
  body["missing"] = Json::array();
  for (const sandbox::Loss& one : missing_of(given))
    body["missing"].push_back({{"name", one.name}, {"needs", one.required}, {"gives_up", one.gives_up}});
  body["limits"] = probe.limits;
  body["self_test"] = probe_body(probe, host.tier());
  return dump_json(body) + "\n";
}

std::string as_page(const sandbox::HostFacts& host, const std::vector<sandbox::Fact>& programs,
                    const DoctorProbe& probe, const std::vector<sandbox::Guarantee>& given, bool confines, bool ready) {
  Page page(34);
  page.line(fmt::format("kernel {}, Landlock ABI {}, tier: {}", host.kernel, host.landlock_abi,
                        sandbox::tier_name(host.tier())));
  page.title("what there is");
  add_facts(page, host.facts);
  add_facts(page, programs);
  add_guarantees(page, host, given);
  add_identity(page, probe);
  add_self_test(page, probe, host.tier());
  page.line("");
  const bool less = host.tier() != sandbox::Tier::none && probe.error.empty();
  page.text(ready ? "Ready: oncelatch run and exec will confine with all of this."
            : confines
                ? "Ready: oncelatch exec will confine with all of this. Not ready: oncelatch run refuses until what is "
                  "MISSING is put right."
            : less
                ? "Not ready: oncelatch refuses until what is MISSING is put right, or each loss is accepted by name "
                  "(--accept-loss NAME)."
                : "Not ready: oncelatch refuses until what is MISSING or FAILED is put right.");
  return page.take();
}

}  // namespace

int doctor(bool json) {
  sandbox::HostFacts host = sandbox::probe_host();
  std::vector<sandbox::Fact> programs = program_facts();
  DoctorProbe probe = run_doctor_probe(host);
  const std::vector<sandbox::Guarantee> given = sandbox::guarantees(host, usual_plan(probe));
  const bool confines = host.tier() == sandbox::Tier::full && probe.error.empty() && missing_of(given).empty();
  bool ready = confines;
  for (const sandbox::Fact& one : programs) ready = ready && one.holds;
  const std::string text =
      json ? as_json(host, programs, probe, given, ready) : as_page(host, programs, probe, given, confines, ready);
  if (!print_page(text)) return kExitLauncher;
  return ready ? 0 : kExitGuarantee;
}

}  // namespace oncelatch::launcher
