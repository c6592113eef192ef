// What this machine can enforce, proved by trying (a success of unshare alone proves nothing).
//
//   HostFacts facts = probe_host();
//   if (facts.tier() != Tier::full) print(facts.missing());
//
// Ownership: values. Threads: any. Failure: a probe that can't be made counts as "no", with the errno kept. After fork:
// no.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oncelatch::sandbox {

enum class Tier {
  none,      // the program can't be confined
  landlock,  // no namespaces: Landlock and the filter on the host's own root
  full,
};
[[nodiscard]] std::string_view tier_name(Tier tier);

struct Fact {
  std::string name;  // "user-namespace", "landlock", "seccomp-filter", …
  bool holds = false;
  bool required = true;  // of the full tier
  std::string detail;    // "ABI 7", "clone: Operation not permitted"
  std::string advice;    // what to do where it doesn't hold
};

struct HostFacts {
  std::string kernel;  // uname -r
  int landlock_abi = 0;
  std::uint32_t landlock_errata = 0;          // bit number - 1 of an erratum that is fixed
  std::vector<std::string> landlock_missing;  // what newer ABIs add, by name
  bool filtered = false;                      // a seccomp filter is in force already
  std::vector<Fact> facts;
  [[nodiscard]] Tier tier() const;
  // One clear paragraph per fact that the full tier needs and that doesn't hold: what is missing, why, what to do.
  [[nodiscard]] std::string missing() const;
  // Whether the workspace guard can be had: a listener of our own that answers without being interrupted.
  [[nodiscard]] bool can_guard() const;
  // As on an older kernel: what only a newer ABI knows isn't used, and isn't claimed.
  void lower_landlock(int abi);

 private:
  [[nodiscard]] std::string refused_by_outer_sandbox() const;
};

// quick: what costs microseconds only. That namespaces and filters can really be had is then proved by entering: a
// failure of enter() there runs the full probe and becomes the same ENOTSUP error as one that is found before.
enum class Probing { quick, full };
// The refusal of a machine whose tier is too low: stage "sandbox", errno ENOTSUP, missing() as what to try.
[[nodiscard]] Failure cannot_confine(std::string object, const HostFacts& facts);

[[nodiscard]] HostFacts probe_host(Probing probing = Probing::full);

}  // namespace oncelatch::sandbox
