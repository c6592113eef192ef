// Signal sets as the kernel takes them: 64 bits, bit n-1 for signal n.
//
//   block_signals(signal_bit(kSigterm) | signal_bit(kSigchld));
//
// Ownership: none. Threads: the mask is the calling thread's. Failure: none for valid sets. After fork: safe;
// freestanding.
#pragma once

#include "sandbox/syscall.h"

namespace oncelatch::sandbox {

inline constexpr int kSighup = 1;
inline constexpr int kSigint = 2;
inline constexpr int kSigquit = 3;
inline constexpr int kSigkill = 9;
inline constexpr int kSigusr1 = 10;
inline constexpr int kSigusr2 = 12;
inline constexpr int kSigterm = 15;
inline constexpr int kSigchld = 17;
inline constexpr int kSigcont = 18;
inline constexpr int kSigstop = 19;
inline constexpr int kSigtstp = 20;

constexpr std::uint64_t signal_bit(int number) {
  return std::uint64_t{1} << (number - 1);
}

inline constexpr std::uint64_t kEverySignal = ~std::uint64_t{0};

// What the outer process hands on to the program's process group.
inline constexpr std::uint64_t kForwarded = signal_bit(kSighup) | signal_bit(kSigint) | signal_bit(kSigquit) |
                                            signal_bit(kSigusr1) | signal_bit(kSigusr2) | signal_bit(kSigterm) |
                                            signal_bit(kSigcont) | signal_bit(kSigtstp);

inline void block_signals(std::uint64_t set) {
  constexpr int kSetMask = 2;
  (void)sys::call(__NR_rt_sigprocmask, kSetMask, &set, nullptr, sizeof set);
}

}  // namespace oncelatch::sandbox
