// Landlock's constants, ABI 1 to 10, by our own table: the system header of Debian 12 stops at ABI 2.
//
//   std::uint64_t rights = landlock::known_file_rights(abi);   // what this kernel understands
//
// Source: include/uapi/linux/landlock.h of Linux 7.2. ABI 8, 9 and 10 are untested here: the kernels these tests run on
// stop at 7. Ownership, threads, failure: constants.
// After fork: safe; freestanding.
#pragma once

#include <cstdint>

namespace oncelatch::sandbox::landlock {

inline constexpr std::uint64_t kExecute = 1ULL << 0;
inline constexpr std::uint64_t kWriteFile = 1ULL << 1;
inline constexpr std::uint64_t kReadFile = 1ULL << 2;
inline constexpr std::uint64_t kReadDir = 1ULL << 3;
inline constexpr std::uint64_t kRemoveDir = 1ULL << 4;
inline constexpr std::uint64_t kRemoveFile = 1ULL << 5;
inline constexpr std::uint64_t kMakeChar = 1ULL << 6;
inline constexpr std::uint64_t kMakeDir = 1ULL << 7;
inline constexpr std::uint64_t kMakeReg = 1ULL << 8;
inline constexpr std::uint64_t kMakeSock = 1ULL << 9;
inline constexpr std::uint64_t kMakeFifo = 1ULL << 10;
inline constexpr std::uint64_t kMakeBlock = 1ULL << 11;
inline constexpr std::uint64_t kMakeSym = 1ULL << 12;
inline constexpr std::uint64_t kRefer = 1ULL << 13;
inline constexpr std::uint64_t kTruncate = 1ULL << 14;
inline constexpr std::uint64_t kIoctlDev = 1ULL << 15;
inline constexpr std::uint64_t kResolveUnix = 1ULL << 16;

inline constexpr std::uint64_t kBindTcp = 1ULL << 0;
inline constexpr std::uint64_t kConnectTcp = 1ULL << 1;
inline constexpr std::uint64_t kBindUdp = 1ULL << 2;
inline constexpr std::uint64_t kConnectSendUdp = 1ULL << 3;

inline constexpr std::uint64_t kScopeAbstractUnix = 1ULL << 0;
inline constexpr std::uint64_t kScopeSignal = 1ULL << 1;

inline constexpr std::uint32_t kCreateRulesetVersion = 1;  // landlock_create_ruleset flag: returns the ABI
inline constexpr std::uint32_t kCreateRulesetErrata = 2;   // returns the mask of errata that are fixed
inline constexpr std::uint32_t kRestrictLogSameExecOff = 1U << 0;
inline constexpr std::uint32_t kRestrictLogNewExecOn = 1U << 1;
inline constexpr std::uint32_t kRestrictLogSubdomainsOff = 1U << 2;
inline constexpr std::uint32_t kRestrictThreadSync = 1U << 3;
inline constexpr std::uint32_t kAddRuleQuiet = 1U << 0;
inline constexpr std::uint32_t kRulePathBeneath = 1;
inline constexpr std::uint32_t kRuleNetPort = 2;

struct RulesetAttribute {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;  // ABI 4
  std::uint64_t scoped;              // ABI 6; ABI 10 adds three masks of what isn't logged, which may be left out
};

struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};

struct NetPort {
  std::uint64_t allowed_access;
  std::uint64_t port;
};

struct AbiRow {
  int abi;
  std::uint64_t file_rights;  // added by this ABI
  std::uint64_t net_rights;
  std::uint64_t scopes;
  std::uint32_t restrict_flags;  // of landlock_restrict_self
  std::uint32_t rule_flags;      // of landlock_add_rule
  const char* adds;
};

inline constexpr AbiRow kAbiTable[] = {
    {1, (1ULL << 13) - 1, 0, 0, 0, 0, "file rights; no mount or pivot_root inside a domain"},
    {2, kRefer, 0, 0, 0, 0, "rename and link across directories"},
    {3, kTruncate, 0, 0, 0, 0, "truncate"},
    {4, 0, kBindTcp | kConnectTcp, 0, 0, 0, "TCP ports"},
    {5, kIoctlDev, 0, 0, 0, 0, "ioctl on devices"},
    {6, 0, 0, kScopeAbstractUnix | kScopeSignal, 0, 0, "scopes: abstract sockets and signals"},
    {7, 0, 0, 0, kRestrictLogSameExecOff | kRestrictLogNewExecOn | kRestrictLogSubdomainsOff, 0, "audit flags"},
    {8, 0, 0, 0, kRestrictThreadSync, 0, "all threads at once"},                                      // untested
    {9, kResolveUnix, 0, 0, 0, 0, "pathname sockets"},                                                // untested
    {10, 0, kBindUdp | kConnectSendUdp, 0, 0, kAddRuleQuiet, "UDP ports, rules that aren't logged"},  // untested
};

inline constexpr int kNewestAbi = 10;

// What was wrong in a kernel whose mask lacks bit number - 1. Reported, never decided by: a layer is used all the same.
struct Erratum {
  unsigned number;
  int abi;
  const char* what;
};
inline constexpr Erratum kErrata[] = {
    {1, 4, "port rules also refuse sockets that aren't TCP"},
    {2, 6, "signals between the threads of one process are refused"},
    {3, 1, "directories moved out of a bind mount are judged by the wrong parents"},
};

// The full tier needs signals and abstract sockets scoped, the Landlock tier TCP ports.
inline constexpr int kRequiredAbi = 6;
inline constexpr int kLandlockTierAbi = 4;

constexpr std::uint64_t known_file_rights(int abi) {
  std::uint64_t rights = 0;
  for (const AbiRow& row : kAbiTable)
    if (row.abi <= abi) rights |= row.file_rights;
  return rights;
}

constexpr std::uint64_t known_net_rights(int abi) {
  std::uint64_t rights = 0;
  for (const AbiRow& row : kAbiTable)
    if (row.abi <= abi) rights |= row.net_rights;
  return rights;
}

constexpr std::uint64_t known_scopes(int abi) {
  std::uint64_t scopes = 0;
  for (const AbiRow& row : kAbiTable)
    if (row.abi <= abi) scopes |= row.scopes;
  return scopes;
}

}  // namespace oncelatch::sandbox::landlock
