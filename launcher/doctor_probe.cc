#include "launcher/doctor_probe.h"

#include <signal.h>

#include <cerrno>
#include <cstdlib>

#include "base/beneath.h"
#include "launcher/exec/live_probe.h"
#include "launcher/exec/workspace.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {
namespace {

// A directory for the probe's workspace, gone with this value.
class ScratchWorkspace {
 public:
  ScratchWorkspace() {
    char pattern[] = "/tmp/oncelatch-doctor-XXXXXX";
    if (::mkdtemp(pattern) != nullptr) made_ = pattern;
  }
  ScratchWorkspace(const ScratchWorkspace&) = delete;
  ScratchWorkspace& operator=(const ScratchWorkspace&) = delete;
  ~ScratchWorkspace() {
    if (made_.empty()) return;
    Result<Fd> parent = open_directory("/tmp");
    if (parent) (void)remove_tree(parent->get(), made_.substr(made_.rfind('/') + 1));
  }
  [[nodiscard]] std::string path() const { return made_.empty() ? made_ : real_path(made_); }

 private:
  std::string made_;
};

// Signals that would end us wait, so that the directory is removed before.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&held, number);
    ::sigprocmask(SIG_BLOCK, &held, &before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

struct ProofRow {
  std::string_view probe;
  std::string_view layers;   // of the full tier
  std::string_view on_host;  // of the Landlock tier
};

// Where several are named, each alone refuses; the last ones are of one layer each.
constexpr ProofRow kProofs[] = {
    {"write-outside", "mount namespace or landlock", "landlock"},
    {"write-root", "mount namespace or landlock", "landlock"},
    {"write-system", "read-only mounts or landlock", "landlock"},
    {"write-workspace", "landlock of the workspace guard", ""},
    {"guarded-name", "broker of the workspace guard", ""},
    {"read-secret", "mount namespace or landlock", "landlock"},
    {"pinned-rename", "pinned mounts", ""},
    {"unshare", "seccomp or user-namespace limit", "seccomp"},
    {"mount", "seccomp or landlock or no capability", "seccomp or landlock or no capability"},
    {"unix-socket", "mount namespace", "seccomp"},
    {"abstract-socket", "network namespace or landlock scope", "seccomp or landlock scope"},
    {"tcp-socket", "network namespace or landlock ports", "landlock ports"},
    {"udp-socket", "", "seccomp"},
    {"tiocsti", "seccomp or inner session", "seccomp or inner session"},
    {"tiocsti-high-bit", "seccomp or inner session", "seccomp or inner session"},
    {"signal-outside", "pid namespace or landlock scope", "landlock scope"},
    {"init-memory", "non-dumpable first process or landlock", "non-dumpable first process or landlock"},
    {"ptrace", "seccomp", "seccomp"},
    {"io-uring", "seccomp", "seccomp"},
    {"mount-namespace", "mount namespace alone", ""},
    {"pid-namespace", "pid namespace alone", ""},
    {"network-namespace", "network namespace alone", ""},
    {"userns-limit", "user-namespace limit alone", ""},
    {"capabilities", "empty capability sets alone", "empty capability sets alone"},
    {"no-new-privileges", "no_new_privs alone", "no_new_privs alone"},
    {"landlock", "landlock alone", "landlock alone"},
    {"landlock-scope", "landlock scope alone", "landlock scope alone"},
    {"seccomp", "seccomp alone", "seccomp alone"},
    {"init-not-dumpable", "non-dumpable first process alone", "non-dumpable first process alone"},
};

}  // namespace

std::string_view proved_by(std::string_view probe, sandbox::Tier tier) {
  for (const ProofRow& row : kProofs)
    if (row.probe == probe) return tier == sandbox::Tier::landlock ? row.on_host : row.layers;
  return "";
}

DoctorProbe run_doctor_probe(const sandbox::HostFacts& facts) {
  constexpr std::uint64_t kMemory = std::uint64_t{256} << 20;
  DoctorProbe result;
  const HeldSignals held;  // before the directory, so after it is gone
  ScratchWorkspace scratch;
  sandbox::SandboxPlan plan;
  plan.least_tier = sandbox::Tier::landlock;  // what there is
  plan.workspace = scratch.path();
  if (plan.workspace.empty()) {
    result.error = "no directory could be made in /tmp";
    return result;
  }
  result.identity = sandbox::choose_identity(plan.workspace);
  plan.uid = result.identity.uid;
  plan.gid = result.identity.gid;
  plan.shown_uid = result.identity.shown_uid;
  plan.shown_gid = result.identity.shown_gid;
  plan.idmapped = result.identity.idmapped;
  plan.limits.memory = kMemory;
  Result<std::string> program = sandbox::find_companion("oncelatch");
  Result<LiveProbe> probe = program ? probe_live(plan, *program, {"nothing"}, facts) : Failure(program.error());
  if (!probe) {
    result.error = probe.error().object + ": " + probe.error().what;
    result.try_next = probe.error().try_next;
    return result;
  }
  result.limits = probe->limits;
  result.self_test = probe->self_test;
  return result;
}

}  // namespace oncelatch::launcher
