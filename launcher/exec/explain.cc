#include "launcher/exec/explain.h"

#include <cstdio>

#include "base/untrusted.h"
#include "launcher/errors.h"
#include "launcher/exec/plan.h"
#include "sandbox/host_facts.h"

namespace oncelatch::launcher {

namespace {

using sandbox::Access;
using sandbox::Network;

class Page {
 public:
  void title(const char* text) { text_ += std::string(text_.empty() ? "" : "\n") + text + "\n"; }
  void row(const std::string& left, const std::string& rule) {
    std::string padded = "  " + escape_for_display(left, 400);
    if (padded.size() < 34) padded.resize(34, ' ');
    text_ += padded + "  " + rule + "\n";
  }
  void print() const { std::fputs(text_.c_str(), stdout); }

 private:
  std::string text_;
};

void add_paths(Page& page, const ExecPlan& plan) {
  const sandbox::SandboxPlan& inside = plan.sandbox;
  page.title("writable");
  page.row(inside.workspace, plan.workspace.path == inside.workspace ? "workspace" : "");
  page.row(inside.home_inside, "private home, gone at the end");
  page.row("/tmp, /var/tmp, /dev/shm", "private, gone at the end");
  for (const sandbox::Bind& bind : inside.binds)
    if (bind.access == Access::read_write) page.row(bind.target, "--write");
  page.title("readable");
  page.row("/usr, /bin, /lib, /sbin", "system");
  page.row("/etc", "by list: loader, certificates, time zone, names");
  page.row("/proc", "its own processes; kernel settings covered");
  page.row("/dev", "null zero full random urandom tty, its own terminals");
  for (const sandbox::Bind& bind : inside.binds)
    if (bind.access == Access::read_only) page.row(bind.target, "--read, or a toolchain");
  page.title("refused inside what is writable");
  for (const sandbox::Cover& cover : inside.covers)
    page.row(cover.path,
             cover.kind == sandbox::Cover::Kind::hide ? "--deny: hidden" : "would run outside later: read-only");
  page.row("everything else of this machine", "isn't there");
}

void add_rest(Page& page, const ExecPlan& plan) {
  const sandbox::SandboxPlan& inside = plan.sandbox;
  page.title("network");
  if (inside.network == Network::none) page.row("none", "empty network namespace, Landlock refuses every TCP port");
  if (inside.network == Network::loopback) page.row("its own loopback", "empty network namespace; nothing outside");
  for (std::uint16_t port : inside.connect_ports) page.row("TCP " + std::to_string(port), "any host; UDP is open too");
  page.title("variables");
  for (const std::string& name : plan.environment.set) page.row(name, "set by oncelatch, a toolchain or --env");
  for (const std::string& name : plan.environment.passed) page.row(name, "passed");
  page.row(std::to_string(plan.environment.dropped.size()) + " of yours", "not passed");
  page.title("limits");
  page.row(std::to_string(inside.limits.processes), "processes");
  page.row(std::to_string(inside.limits.memory >> 20) + " MiB", "memory");
  page.row(std::to_string(inside.limits.file_size >> 20) + " MiB", "size of a file");
  page.row(std::to_string(inside.limits.temporary_bytes >> 20) + " MiB", "/tmp");
  page.row(plan.seconds == 0 ? "none" : std::to_string(plan.seconds) + " s", "time");
}

}  // namespace

int explain_exec(const ExecOptions& options, const std::vector<std::string>& environment) {
  Result<ExecPlan> plan = make_exec_plan(options, environment);
  if (!plan) return report_error(plan.error());
  Page page;
  page.title("command");
  page.row(plan->program, "profile " + std::string(plan->profile.name));
  add_paths(page, *plan);
  add_rest(page, *plan);
  page.print();
  for (const std::string& note : plan->notes) std::fprintf(stderr, "oncelatch: note: %s\n", note.c_str());
  return 0;
}

}  // namespace oncelatch::launcher
