#include "sandbox/guarantees.h"

#include <algorithm>

#include "sandbox/landlock_abi.h"

namespace oncelatch::sandbox {

namespace {

using Layers = std::vector<std::string>;

constexpr const char* kHardLinks = "a hard link that lies in the workspace reaches its other name";
constexpr const char* kMetadata = "modes, owners and times of the user's own files can be changed everywhere";
constexpr const char* kHostPorts = "Landlock alone, TCP only; UDP and every address on an allowed port stay open";
constexpr const char* kNewFiles =
    "new files of any name can be made in the workspace, hooks and settings included; exec moves those that would be "
    "refused away after the run, which is no guarantee";
constexpr const char* kOverlay =
    "oncelatch exec --workspace-mode overlay holds it: what changes is kept apart until oncelatch changes promotes it";
constexpr const char* kOtherNames =
    "names that are only held or reported are told after the run; what an existing link of the repository leads to "
    "counts by its own name";

bool as_root(const SandboxPlan& plan) {
  return plan.uid == 0;
}

std::string tracing(const SandboxPlan& plan) {
  return plan.allow_ptrace ? "it may trace its own children" : "ptrace is refused inside as well";
}

// Kernel user 0 owns the system's files, so only the layers stand between.
Guarantee write_scope(const SandboxPlan& plan) {
  std::string limit = kHardLinks;
  if (as_root(plan)) limit += "; it runs as the machine's user 0, so no file's owner or mode stops it besides";
  return {"write_scope", {"mount namespace", "landlock"}, limit};
}

Guarantee network(const SandboxPlan& plan) {
  switch (plan.network) {
    case Network::none:
      return {
          "network", {"network namespace", "landlock TCP ports"}, "datagrams are kept by the network namespace alone"};
    case Network::loopback:
      return {"network", {"network namespace"}, "servers of its own on its own loopback; the namespace alone holds it"};
    case Network::ports:
      break;
  }
  return {"network", {"landlock TCP ports"}, kHostPorts};
}

Guarantee host_sockets(const SandboxPlan& plan) {
  Layers layers = {"mount namespace"};
  if (plan.network != Network::ports) layers.emplace_back("network namespace");
  layers.emplace_back("landlock scope of abstract sockets");
  return {"host_sockets", layers, "a socket that lies in the workspace or in a bound directory can be connected to"};
}

Guarantee processes(const SandboxPlan& plan) {
  Layers layers = {"pid namespace", "landlock scope of signals"};
  if (!plan.allow_ptrace) layers.emplace_back("seccomp");
  return {"processes", layers,
          tracing(plan) + "; that others use the system's files, or those shown, can be watched (inotify)"};
}

Guarantee limits(const SandboxPlan& plan) {
  Layers layers = {"kernel.pid_max and RLIMIT_NPROC", "RLIMIT_FSIZE, RLIMIT_NOFILE, size of /tmp"};
  std::string limit = "processor time isn't limited; before Linux 6.14 processes are limited by RLIMIT_NPROC alone";
  if (plan.limits.memory != 0) layers.emplace_back("memory of all processes together");
  if (plan.limits.memory != 0) limit += "; memory that nothing has mapped is counted by a control group only";
  if (plan.limits.memory == 0) limit = "memory isn't limited; " + limit;
  return {"limits", layers, limit};
}

// The broker guards what else may be written there.
Guarantee creation_guard_by_overlay(const HostFacts& facts, const SandboxPlan& plan) {
  auto is_written = [](const Bind& bind) { return bind.access == Access::read_write && bind.source == bind.target; };
  const bool others = std::any_of(plan.binds.begin(), plan.binds.end(), is_written);
  if (others && !(plan.guard && facts.can_guard()))
    return {
        "creation_guard", {}, "the workspace's changes are kept apart; new files can be made in what else is writable"};
  return {"creation_guard",
          {"the workspace is the lower layer of an overlay, in a mount namespace",
           "landlock lets nothing be written but the overlay"},
          "what is promoted later reaches the host: refused names never, others are shown before"};
}

Guarantee creation_guard(const HostFacts& facts, const SandboxPlan& plan) {
  if (plan.overlay) return creation_guard_by_overlay(facts, plan);
  if (!plan.guard || !facts.can_guard()) return {"creation_guard", {}, kNewFiles, kOverlay};
  return {"creation_guard", {"broker by names", "landlock lets nothing be made or written without it"}, kOtherNames};
}

std::vector<Guarantee> full_tier(const HostFacts& facts, const SandboxPlan& plan) {
  return {
      write_scope(plan),
      {"read_scope",
       {"mount namespace", "landlock"},
       "/usr and the listed parts of /etc are readable; names of other files are kept by the mount namespace alone"},
      {"deny_inside",
       {"read-only mounts with pinned ancestors", "landlock and seccomp keep the mounts"},
       "only what existed at the start; a directory that the host replaces meanwhile loses its cover"},
      creation_guard(facts, plan),
      network(plan),
      {"domain_allowlist", {}, "no rule by host name"},
      host_sockets(plan),
      processes(plan),
      {"terminal", {"inner terminal and session", "seccomp"}, "what the program prints is the launcher's to filter"},
      limits(plan),
      {"explain", {"the plan's answer", "a live attempt"}, "for what is asked; refusals aren't listed as they happen"},
  };
}

Guarantee network_on_host(const SandboxPlan& plan) {
  switch (plan.network) {
    case Network::none:
      return {"network", {"landlock TCP ports, seccomp the rest"}, "each is alone for its part; routes can be read"};
    case Network::loopback:
      return {"network", {}, "the host's loopback can't be told from one of its own"};
    case Network::ports:
      break;
  }
  return {"network", {"landlock TCP ports"}, kHostPorts};
}

Guarantee write_scope_on_host(const SandboxPlan& plan) {
  if (as_root(plan)) return {"write_scope", {}, std::string("user 0: ") + kMetadata + ", those of the system too"};
  return {"write_scope", {"landlock"}, std::string(kHardLinks) + "; " + kMetadata};
}

Guarantee processes_on_host(const HostFacts& facts, const SandboxPlan& plan) {
  bool scoped = landlock::known_scopes(facts.landlock_abi) != 0;
  std::string seen = "their names and arguments can be read in /proc; " + tracing(plan);
  if (scoped) return {"processes", {"landlock scope of signals and its ptrace rule"}, seen};
  return {"processes", {}, "signals reach every process of the user (Landlock ABI 6 scopes them); " + seen};
}

// No namespace: the host's own root, pid numbers and network.
std::vector<Guarantee> landlock_tier(const HostFacts& facts, const SandboxPlan& plan) {
  return {
      write_scope_on_host(plan),
      {"read_scope",
       {"landlock"},
       "/usr, the listed parts of the host's /etc and /proc are readable; whether a name exists can be asked, and "
       "changes of names be watched, everywhere"},
      {"deny_inside", {}, "the workspace is one piece: nothing in it is hidden or protected"},
      {"creation_guard", {}, kNewFiles},
      network_on_host(plan),
      {"domain_allowlist", {}, "no rule by host name"},
      {"host_sockets", {"seccomp refuses unix sockets"}, "pairs of streams of its own can be made"},
      processes_on_host(facts, plan),
      {"terminal", {"inner terminal and session", "seccomp"}, "it can't make pseudo-terminals of its own"},
      {"limits",
       {"RLIMIT_NPROC, RLIMIT_FSIZE, RLIMIT_NOFILE"},
       "processes are counted with all others of the user; memory, processor time and /tmp aren't limited together"},
      {"explain", {}, "refusals show as errno only"},
  };
}

std::vector<Guarantee> no_tier() {
  std::vector<Guarantee> none = full_tier({}, {});
  for (Guarantee& guarantee : none) guarantee = {guarantee.name, {}, "not given: see what is missing"};
  return none;
}

}  // namespace

// Layers are independent: each alone refuses. Kept true by tests/sandbox/layers_test.cc.
std::vector<Guarantee> guarantees(const HostFacts& facts, const SandboxPlan& plan) {
  switch (facts.tier()) {
    case Tier::full:
      return full_tier(facts, plan);
    case Tier::landlock:
      return landlock_tier(facts, plan);
    case Tier::none:
      break;
  }
  return no_tier();
}

}  // namespace oncelatch::sandbox
