#include "sandbox/host_facts.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

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

bool sysctl_is(const char* path, const std::string& value) {
  Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 32> text;
  ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  std::string word(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!word.empty() && word.back() == '\n') word.pop_back();
  return got > 0 && word == value;
}

// The one cause and the narrow remedy; never "switch the protection off" first.
std::string namespace_advice() {
  if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
    return "AppArmor restricts user namespaces here (Ubuntu 23.10 and later): load the profile "
           "packaging/apparmor/oncelatch "
           "(sudo install -m 644 packaging/apparmor/oncelatch /etc/apparmor.d/oncelatch && sudo apparmor_parser -r "
           "/etc/apparmor.d/oncelatch)";
  if (sysctl_is("/proc/sys/user/max_user_namespaces", "0"))
    return "user.max_user_namespaces is 0: raise it (sysctl user.max_user_namespaces=1000), or leave the sandbox you "
           "are in";
  if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0"))
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

std::vector<std::string> missing_rights(int abi) {
  std::vector<std::string> names;
  for (const landlock::AbiRow& row : landlock::kAbiTable)
    if (row.abi > abi) names.emplace_back(row.adds);
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

// For the reader; no tier depends on it.
Fact rights_fact(const std::vector<std::string>& missing) {
  return {.name = "landlock-newer-rights",
          .holds = missing.empty(),
          .required = false,
          .detail = missing.empty() ? "all that are known" : "not in this kernel: " + joined(missing),
          .advice = "a newer kernel; until then the other layers stand alone there"};
}

Fact errata_fact(int abi, std::uint32_t fixed) {
  std::vector<std::string> open;
  for (const landlock::Erratum& erratum : landlock::kErrata)
    if (erratum.abi <= abi && (fixed & (1U << (erratum.number - 1))) == 0)
      open.push_back(std::to_string(erratum.number) + " (" + erratum.what + ")");
  return {.name = "landlock-errata",
          .holds = open.empty(),
          .required = false,
          .detail = open.empty() ? "all known ones fixed" : "not known to be fixed: " + joined(open),
          .advice = "the distribution's newest kernel"};
}

struct TierRow {
  Tier tier;
  int landlock_abi;
  const char* also[4];  // facts needed besides those that every tier needs
};
constexpr const char* kAloneFacts[] = {"user-namespace", "network-namespace", "mount-calls", "process-children",
                                       "landlock"};

// Best first.
constexpr TierRow kTiers[] = {
    {Tier::full, landlock::kRequiredAbi, {"user-namespace", "network-namespace", "mount-calls", "landlock"}},
    {Tier::landlock, landlock::kLandlockTierAbi, {"process-children"}},
};

template <std::size_t Count>
bool among(const char* const (&names)[Count], const std::string& name) {
  return std::any_of(std::begin(names), std::end(names),
                     [&](const char* one) { return one != nullptr && name == one; });
}

bool gives(const TierRow& row, const HostFacts& host) {
  if (host.landlock_abi < row.landlock_abi) return false;
  return std::all_of(host.facts.begin(), host.facts.end(), [&](const Fact& fact) {
    bool needed = among(row.also, fact.name) || (fact.required && !among(kAloneFacts, fact.name));
    return fact.holds || !needed;
  });
}

constexpr const char* kListenerFact = "creation-listener";

bool has_sync_wake_up(const std::string& kernel) {
  int major = 0;
  int minor = 0;
  return std::sscanf(kernel.c_str(), "%d.%d", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 6));
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

}  // namespace

std::string_view tier_name(Tier tier) {
  switch (tier) {
    case Tier::full:
      return "full";
    case Tier::landlock:
      return "landlock";
    case Tier::none:
      break;
  }
  return "none";
}

Tier HostFacts::tier() const {
  if (facts.empty()) return Tier::none;
  for (const TierRow& row : kTiers)
    if (gives(row, *this)) return row.tier;
  return Tier::none;
}

bool HostFacts::can_guard() const {
  return tier() == Tier::full && std::any_of(facts.begin(), facts.end(),
                                             [](const Fact& fact) { return fact.name == kListenerFact && fact.holds; });
}

void HostFacts::lower_landlock(int abi) {
  landlock_abi = std::min(landlock_abi, std::max(0, abi));
  landlock_missing = missing_rights(landlock_abi);
  for (Fact& fact : facts) {
    if (fact.name == "landlock") fact = landlock_fact(landlock_abi > 0 ? landlock_abi : -ENOSYS);
    if (fact.name == "landlock-newer-rights") fact = rights_fact(landlock_missing);
    if (fact.name == "landlock-errata") fact = errata_fact(landlock_abi, landlock_errata);
  }
}

// Every kernel that is new enough for Landlock has openat2: where a filter hides it, the kernel isn't to blame fact by
// fact. Our own filter does.
std::string HostFacts::refused_by_outer_sandbox() const {
  std::string names;
  bool hidden = false;
  for (const Fact& entry : facts) {
    if (entry.holds || !entry.required) continue;
    names += (names.empty() ? "" : ", ") + entry.name;
    hidden |= entry.name == "openat2" && filtered;
  }
  if (!hidden) return {};
  return "This process is in a sandbox already, whose filter refuses what another one in it needs: " + names +
         ". What helps: start oncelatch outside of it, or run the program as it is, under the outer one's rules.";
}

std::string HostFacts::missing() const {
  if (std::string outer = refused_by_outer_sandbox(); !outer.empty()) return outer;
  const std::string consequence =
      tier() == Tier::landlock ? "only the Landlock tier can be had" : "the program can't be confined";
  std::string text;
  std::string last_advice;
  for (const Fact& entry : facts) {
    if (entry.holds || !entry.required || entry.advice == last_advice) continue;
    last_advice = entry.advice;
    if (!text.empty()) text += "\n\n";
    text += "This machine lacks " + entry.name + " (" + entry.detail + "), so " + consequence + ". " +
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
  host.filtered = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
  int abi = probes::landlock_abi();
  host.landlock_abi = std::max(0, abi);
  host.landlock_errata = static_cast<std::uint32_t>(std::max(0, probes::landlock_errata()));
  host.landlock_missing = missing_rights(host.landlock_abi);
  if (probing == Probing::full) {
    host.facts.push_back(namespace_fact("user-namespace", probes::user_namespace()));
    host.facts.push_back(namespace_fact("network-namespace", probes::network_namespace()));
  }
  host.facts.push_back(landlock_fact(abi));
  int filter = probing == Probing::full ? probes::seccomp_filter() : probes::seccomp_actions();
  host.facts.push_back(fact("seccomp-filter", filter, "a kernel with CONFIG_SECCOMP_FILTER"));
  // A filter around us may have taken the only listener; that is found by trying.
  const bool tries = probing == Probing::full || host.filtered || !has_sync_wake_up(host.kernel);
  Fact listener = fact(kListenerFact, tries ? probes::listener() : probes::listener_action(),
                       "Linux 6.6 or later, and no outer sandbox that listens to system calls itself");
  listener.required = false;  // the workspace guard's alone
  host.facts.push_back(listener);
  host.facts.push_back(fact("no-new-privileges", probes::no_new_privileges(), "Linux 3.5 or later"));
  host.facts.push_back(fact("mount-calls", probes::mount_calls(), "Linux 5.12 or later (open_tree, mount_setattr)"));
  host.facts.push_back(fact("openat2", probes::openat2(), "Linux 5.6 or later, not filtered by an outer sandbox"));
  host.facts.push_back(fact("pidfd", probes::pidfd(), "Linux 5.3 or later"));
  Fact children = fact("process-children", probes::process_children(), "a kernel with CONFIG_PROC_CHILDREN, and /proc");
  children.required = false;  // by the Landlock tier alone
  host.facts.push_back(children);
  host.facts.push_back(rights_fact(host.landlock_missing));
  host.facts.push_back(errata_fact(host.landlock_abi, host.landlock_errata));
  host.facts.push_back(fact("memory-seals", probes::memory_seals(), "a kernel with memfd_create"));
  return host;
}

}  // namespace oncelatch::sandbox
