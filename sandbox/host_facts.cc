#include "sandbox/host_facts.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "sandbox/host_probes.h"
#include "sandbox/landlock_abi.h"

namespace oncelatch::sandbox {

namespace {

Fact fact(std::string name, int error, std::string advice) {
  return {.name = std::move(name),
          .holds = error == 0,
          .required = true,
          .detail = error == 0 ? "available" : std::strerror(error),
          .advice = std::move(advice)};
}

bool sysctl_is(const char* path, char value) {
  Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  char text[3] = {};
  ssize_t got = file ? ::read(file.get(), text, sizeof text) : 0;
  return got >= 1 && text[0] == value && (got == 1 || text[1] == '\n');
}

// The one cause and the narrow remedy; never "switch the protection off" first.
std::string namespace_advice() {
  if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
    return "AppArmor restricts user namespaces here (Ubuntu 23.10 and later): install an AppArmor profile for "
           "oncelatch-exec "
           "that has the rule `userns,`";
  if (sysctl_is("/proc/sys/user/max_user_namespaces", '0'))
    return "user.max_user_namespaces is 0: raise it (sysctl user.max_user_namespaces=1000), or leave the sandbox you "
           "are in";
  if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", '0'))
    return "kernel.unprivileged_userns_clone is 0 (Debian): set it to 1";
  return "inside a container, allow user namespaces and an unmasked /proc (Docker: --security-opt seccomp=unconfined "
         "--security-opt systempaths=unconfined); inside another sandbox they can't be had";
}

Fact namespace_fact(std::string name, const probes::NamespaceFault& fault) {
  Fact result = fact(std::move(name), fault.error, namespace_advice());
  if (fault.error != 0) result.detail = std::string(fault.step) + ": " + std::strerror(fault.error);
  return result;
}

Fact landlock_fact(int abi) {
  Fact result{.name = "landlock", .holds = abi >= landlock::kRequiredAbi, .required = true, .detail = {}, .advice = {}};
  result.detail = abi > 0 ? "ABI " + std::to_string(abi) : std::strerror(-abi);
  result.advice =
      "a kernel of version 6.12 or later with Landlock (ABI 6: signals and abstract sockets); if the kernel has it, "
      "add landlock to the lsm= list of the kernel command line";
  return result;
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

}  // namespace

std::string_view tier_name(Tier tier) {
  return tier == Tier::full ? "full" : "none";
}

Tier HostFacts::tier() const {
  bool all = !facts.empty() &&
             std::all_of(facts.begin(), facts.end(), [](const Fact& entry) { return entry.holds || !entry.required; });
  return all ? Tier::full : Tier::none;
}

std::string HostFacts::missing() const {
  std::string text;
  std::string last_advice;
  for (const Fact& entry : facts) {
    if (entry.holds || !entry.required || entry.advice == last_advice) continue;
    last_advice = entry.advice;
    if (!text.empty()) text += "\n\n";
    text += "This machine lacks " + entry.name + " (" + entry.detail + "), so the program can't be confined. " +
            "What helps: " + entry.advice + ".";
  }
  return text;
}

Failure cannot_confine(std::string object, const HostFacts& facts) {
  return Failure(Error{.stage = "sandbox",
                       .object = std::move(object),
                       .what = "a required guarantee is not available",
                       .try_next = facts.missing(),
                       .errno_value = ENOTSUP});
}

HostFacts probe_host(Probing probing) {
  HostFacts host;
  host.kernel = kernel_release();
  int abi = probes::landlock_abi();
  host.landlock_abi = std::max(0, abi);
  if (probing == Probing::full) {
    host.facts.push_back(namespace_fact("user-namespace", probes::user_namespace()));
    host.facts.push_back(namespace_fact("network-namespace", probes::network_namespace()));
  }
  host.facts.push_back(landlock_fact(abi));
  int filter = probing == Probing::full ? probes::seccomp_filter() : probes::seccomp_actions();
  host.facts.push_back(fact("seccomp-filter", filter, "a kernel with CONFIG_SECCOMP_FILTER"));
  host.facts.push_back(fact("no-new-privileges", probes::no_new_privileges(), "Linux 3.5 or later"));
  host.facts.push_back(fact("mount-calls", probes::mount_calls(), "Linux 5.12 or later (open_tree, mount_setattr)"));
  host.facts.push_back(fact("openat2", probes::openat2(), "Linux 5.6 or later, not filtered by an outer sandbox"));
  host.facts.push_back(fact("pidfd", probes::pidfd(), "Linux 5.3 or later"));
  host.facts.push_back(fact("memory-seals", probes::memory_seals(), "a kernel with memfd_create"));
  return host;
}

}  // namespace oncelatch::sandbox
