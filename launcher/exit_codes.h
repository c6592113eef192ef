// Exit codes are interface (DESIGN section 1, oncelatch(1)). The agent may use the same numbers: --report says which it
// was. Ownership, threads, failure: constants.
#pragma once

namespace oncelatch::launcher {

inline constexpr int kExitPolicyDenied = 120;   // only under --unattended: denied, or nobody answered
inline constexpr int kExitGuarantee = 121;      // a required guarantee is not available on this machine
inline constexpr int kExitConfiguration = 122;  // configuration, policy or command line refused
inline constexpr int kExitFindings = 123;       // --fail-on: something changed that takes effect on the host later
inline constexpr int kExitTimeLimit = 124;
inline constexpr int kExitLauncher = 125;  // launcher fault, verification failure included
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace oncelatch::launcher
