#include "launcher/exec/explain.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/untrusted.h"
#include "launcher/errors.h"
#include "launcher/exec/origins.h"
#include "launcher/exec/page.h"
#include "launcher/exec/plan.h"
#include "launcher/exec/requirements.h"
#include "launcher/exit_codes.h"
#include "launcher/messages.h"
#include "sandbox/guarantees.h"
#include "sandbox/host_facts.h"
#include "sandbox/syscall_groups.h"

namespace oncelatch::launcher {

namespace {

using sandbox::Access;
using sandbox::Cover;
using sandbox::Network;

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

std::string size_words(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB"};
  unsigned unit = 0;
  for (; unit < 3 && bytes >= 10240; ++unit) bytes /= 1024;
  return std::to_string(bytes) + kUnits[unit];
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + shown(word);
  return text;
}

class Explanation {
 public:
  Explanation(const ExecOptions& options, const ExecPlan& plan, const sandbox::HostFacts& facts,
              const std::vector<std::string>& environment)
      : options_(options), plan_(plan), inside_(plan.sandbox), facts_(facts), origins_(options, plan, environment) {}

  std::string text() {
    if (facts_.tier() != sandbox::Tier::full)
      page_.text(
          "This machine doesn't give the full tier. Without it nothing is hidden, protected or made up: see the "
          "guarantees at the end.");
    add_command();
    add_writable();
    add_readable();
    add_refused();
    add_held();
    add_network();
    add_variables();
    add_limits();
    add_filter();
    add_guarantees();
    return page_.take();
  }

 private:
  void add_command() {
    page_.title("command");
    page_.row("program", shown(plan_.program));
    page_.row("started in", shown(inside_.working_directory));
    std::string profile(plan_.profile.name);
    if (!options_.from_file.path.empty()) profile += ", with " + shown(options_.from_file.path);
    page_.row("profile", profile + ": " + std::string(plan_.profile.help));
    std::string user = "kernel user " + std::to_string(inside_.uid);
    if (inside_.idmapped) user += ", shown as " + std::to_string(shown_uid(inside_)) + "; files keep their owners";
    page_.row("runs as", user + ", without capabilities");
  }

  [[nodiscard]] bool guards() const { return inside_.guard && facts_.can_guard(); }
  [[nodiscard]] bool on_host() const { return facts_.tier() == sandbox::Tier::landlock; }

  void add_binds(Access access) {
    for (std::size_t i = 0; i < inside_.binds.size(); ++i)
      if (inside_.binds[i].access == access) page_.row(inside_.binds[i].target, origins_.of_bind(i));
  }

  void add_writable() {
    page_.title("writable");
    page_.row(inside_.workspace,
              options_.workspace.empty() ? "the workspace: the current directory" : "the workspace: --workspace");
    if (options_.overlay)
      page_.row("", "--workspace-mode overlay: what is written there is kept apart until it is promoted");
    if (on_host()) {
      page_.row("$HOME, $TMPDIR", "directories of the session's own, gone at the end; /tmp itself isn't writable");
    } else {
      page_.row(inside_.home_inside, "private home, gone at the end");
      page_.row("/tmp, /var/tmp, /dev/shm", "private, gone at the end");
    }
    add_binds(Access::read_write);
  }

  void add_readable() {
    page_.title("readable");
    page_.row("/usr, /bin, /lib, /sbin", "built in: the system");
    const char* made_up = on_host() ? "; users and hosts are this machine's" : "; users and hosts are made up";
    page_.row("/etc", std::string("built in, by list: loader, certificates, time zone, names") + made_up);
    page_.row("/proc", on_host() ? "this machine's, with all processes" : "its own processes, kernel settings covered");
    page_.row("/dev", on_host() ? "this machine's null, zero, full, random, urandom, tty"
                                : "built in: null, zero, full, random, urandom, tty, terminals of its own");
    add_binds(Access::read_only);
  }

  void add_held() {
    if (!guards()) return;
    page_.title("names that act outside later, held by the workspace guard");
    const std::string by = options_.held ? ", --held" : ", by the profile";
    const bool refused = inside_.held == sandbox::HeldNames::refuse;
    page_.row(refused ? "refused" : "allowed",
              std::string(refused ? "and told at the end" : "told after the run with --report or --fail-on") + by);
    page_.row("", "CI workflows, package scripts, instructions for agents");
    if (refused && inside_.hold_builds) page_.row("", "what builds write as well: Makefile, CMakeLists.txt, build.rs");
  }

  void add_covers(Cover::Kind kind) {
    for (const Cover& cover : inside_.covers)
      if (cover.kind == kind && covers_in(cover, inside_, guards())) page_.row(cover.path, origins_.of_cover(cover));
  }

  void add_refused() {
    if (on_host()) {
      page_.title("asked to be hidden or protected, and isn't in this tier");
      for (Cover::Kind kind : {Cover::Kind::protect, Cover::Kind::link, Cover::Kind::hide}) add_covers(kind);
      page_.title("refused");
      page_.row("everything else", "other files can't be opened; that they are there can be seen");
      return;
    }
    page_.title("readable, but never changed");
    add_covers(Cover::Kind::protect);
    add_covers(Cover::Kind::link);
    bool hides = std::any_of(inside_.covers.begin(), inside_.covers.end(),
                             [](const Cover& cover) { return cover.kind == Cover::Kind::hide; });
    if (hides) page_.title("hidden");
    add_covers(Cover::Kind::hide);
    page_.title("not there");
    page_.row("everything else", "other files, processes, sockets and terminals of this machine");
  }

  void add_network() {
    page_.title("network");
    if (inside_.network == Network::none)
      page_.row("none", by_option("--net") + "an empty network namespace, and Landlock refuses every TCP port");
    if (inside_.network == Network::loopback)
      page_.row("its own loopback", "--net loopback: an empty network namespace otherwise");
    for (std::uint16_t port : inside_.connect_ports)
      page_.row("TCP " + std::to_string(port), "--net ports: any host, by Landlock; UDP is open too");
  }

  [[nodiscard]] std::string by_option(const char* name) const {
    return options_.network ? std::string(name) + ": " : "by default: ";
  }

  void add_variables() {
    page_.title("variables");
    for (const std::string& name : plan_.environment.set) page_.row(name, origins_.of_variable(name));
    for (const std::string& name : plan_.environment.passed) page_.row(name, origins_.of_variable(name));
    if (plan_.environment.dropped.empty()) return;
    page_.row("not passed", joined(plan_.environment.dropped));
    page_.row("", "--pass-env NAME passes one");
  }

  void limit(const char* what, const std::string& amount, const char* key, bool given) {
    page_.row(what, amount + (given ? std::string(", --limit ") + key : ", by default"));
  }

  void add_limits() {
    const sandbox::Limits& limits = inside_.limits;
    page_.title("limits");
    limit("processes", std::to_string(limits.processes), "processes", options_.processes.has_value());
    limit("memory together", size_words(limits.memory), "memory", options_.memory.has_value());
    limit("size of a file", size_words(limits.file_size), "file-size", options_.file_size.has_value());
    limit("size of temporary files", size_words(limits.temporary_bytes), "tmp", options_.temporary_bytes.has_value());
    limit("open files of a process", std::to_string(limits.open_files), "files", options_.open_files.has_value());
    std::string from = options_.seconds ? ", --time" : ", by the profile";
    page_.row("time", (plan_.seconds == 0 ? "not limited" : std::to_string(plan_.seconds) + " s") + from);
  }

  void add_filter() {
    page_.title("system calls refused, by group (oncelatch why NAME tells of one)");
    const sandbox::FilterVariant variant{
        .ptrace = inside_.allow_ptrace, .landlock_tier = on_host(), .host_network = inside_.network == Network::ports};
    for (const sandbox::SyscallGroup& group : sandbox::syscall_groups(variant))
      if (!group.rules.empty()) page_.row(group.name, group.help);
  }

  void add_guarantees() {
    page_.title("guarantees of the " + std::string(tier_name(facts_.tier())) + " tier, and the layers that hold each");
    const std::vector<sandbox::Requirement> required = requirements_of(options_);
    for (const sandbox::Guarantee& one : sandbox::guarantees(facts_, inside_)) {
      auto needed = std::find_if(required.begin(), required.end(),
                                 [&](const sandbox::Requirement& each) { return each.name == one.name; });
      const unsigned layers = needed == required.end() ? 0 : needed->layers;
      std::string text = one.layers.empty() ? "not given" : joined(one.layers);
      if (layers != 0) text += "; needs " + std::to_string(layers);
      if (one.layers.size() < layers) text += is_accepted(one.name) ? ": LOST, by --accept-loss" : ": MISSING";
      page_.row(one.name, text);
      if (!one.limit.empty()) page_.row("", "limit: " + one.limit);
    }
  }

  // Its loss is named by --accept-loss.
  [[nodiscard]] bool is_accepted(const std::string& name) const {
    const auto& lost = options_.accepted_losses;
    return std::find(lost.begin(), lost.end(), name) != lost.end();
  }

  const ExecOptions& options_;
  const ExecPlan& plan_;
  const sandbox::SandboxPlan& inside_;
  const sandbox::HostFacts& facts_;
  Origins origins_;
  Page page_;
};

}  // namespace

int explain_exec(const ExecOptions& options, const std::vector<std::string>& environment) {
  sandbox::HostFacts facts = sandbox::probe_host();
  const bool on_host = facts.tier() == sandbox::Tier::landlock;
  using sandbox::IdentityChoice;
  Result<ExecPlan> plan =
      make_exec_plan(options, environment, on_host ? IdentityChoice::on_host : IdentityChoice::proven);
  if (!plan) return report_error(plan.error());
  if (!print_page(Explanation(options, *plan, facts, environment).text())) return kExitLauncher;
  std::fflush(stdout);
  for (const std::string& note : plan->notes) tell("note: " + note);
  Status held = sandbox::check_required(sandbox::guarantees(facts, plan->sandbox), requirements_of(options),
                                        options.accepted_losses, facts);
  return held ? 0 : report_error(held.error());  // as exec would refuse it
}

}  // namespace oncelatch::launcher
