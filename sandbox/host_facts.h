// What this machine can enforce, proved by trying (a success of unshare alone proves nothing).
//
//   HostFacts facts = probe_host();
//   if (facts.tier() != Tier::full) print(facts.missing());
//
// Ownership: values. Threads: any. Failure: a probe that can't be made counts as "no", with the errno kept. After fork:
// no.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oncelatch::sandbox {

enum class Tier { none, full };
[[nodiscard]] std::string_view tier_name(Tier tier);

struct Fact {
  std::string name;  // "user-namespace", "landlock", "seccomp-filter", …
  bool holds = false;
  bool required = true;
  std::string detail;  // "ABI 7", "clone: Operation not permitted"
  std::string advice;  // what to do where it doesn't hold
};

// A guarantee of DESIGN section 6 and the layers that hold it in this tier.
struct Guarantee {
  std::string name;  // write_scope read_scope deny_inside creation_guard network domain_allowlist host_sockets
                     // processes terminal limits explain
  std::vector<std::string> layers;  // empty: not given
  std::string limit;                // what is not covered, in a sentence; may be empty
};

struct HostFacts {
  std::string kernel;  // uname -r
  int landlock_abi = 0;
  std::vector<Fact> facts;
  [[nodiscard]] Tier tier() const;
  [[nodiscard]] std::vector<Guarantee> guarantees() const;
  // One clear paragraph per required fact that doesn't hold: what is missing, why, what to do.
  [[nodiscard]] std::string missing() const;
};

// quick: what costs microseconds only. That namespaces and filters can really be had is then proved by entering: a
// failure of enter() there runs the full probe and becomes the same ENOTSUP error as a refusal of prepare().
enum class Probing { quick, full };
// The refusal of a machine whose tier isn't full: stage "sandbox", errno ENOTSUP, missing() as what to try.
[[nodiscard]] Failure cannot_confine(std::string object, const HostFacts& facts);

[[nodiscard]] HostFacts probe_host(Probing probing = Probing::full);

}  // namespace oncelatch::sandbox
