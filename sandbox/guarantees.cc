#include "sandbox/host_facts.h"

namespace oncelatch::sandbox {

// Layers are independent: each alone refuses. Kept true by tests/sandbox/verdicts_test.cc.
std::vector<Guarantee> HostFacts::guarantees() const {
  if (tier() != Tier::full) {
    std::vector<Guarantee> none;
    for (const char* name : {"write_scope", "read_scope", "deny_inside", "creation_guard", "network",
                             "domain_allowlist", "host_sockets", "processes", "terminal", "limits", "explain"})
      none.push_back({name, {}, "not given: see what is missing"});
    return none;
  }
  return {
      {"write_scope", {"mount namespace", "landlock"}, "a hard link that lies in the workspace reaches its other name"},
      {"read_scope", {"mount namespace", "landlock"}, "/usr and the listed parts of /etc are readable"},
      {"deny_inside",
       {"read-only mounts with pinned ancestors", "landlock and seccomp keep the mounts"},
       "only what existed at the start; a directory that the host replaces meanwhile loses its cover"},
      {"creation_guard", {}, "new files of any name can be made in the workspace, hooks and settings included"},
      {"network",
       {"network namespace", "landlock TCP ports"},
       "with the host's network: Landlock alone, TCP only; UDP and every address on an allowed port stay open"},
      {"domain_allowlist", {}, "no rule by host name"},
      {"host_sockets",
       {"mount namespace", "network namespace", "landlock scope of abstract sockets"},
       "a socket that lies in the workspace or in a bound directory can be connected to"},
      {"processes", {"pid namespace", "landlock scope of signals", "seccomp"}, "ptrace is refused inside as well"},
      {"terminal", {"inner terminal and session", "seccomp"}, "what the program prints isn't filtered here"},
      {"limits",
       {"kernel.pid_max and RLIMIT_NPROC", "RLIMIT_FSIZE, RLIMIT_NOFILE, size of /tmp"},
       "memory and processor time aren't limited; before Linux 6.14 processes are limited by RLIMIT_NPROC alone"},
      {"explain", {}, "refusals show as errno only"},
  };
}

}  // namespace oncelatch::sandbox
