// Raw system calls for oncelatch-exec: no errno, no C library; a negative result is -errno.
//
//   if (long rc = sys::call(__NR_unshare, CLONE_NEWNS); rc < 0) return failed(rc, "unshare");
//
// Ownership: none. Threads: none kept. Failure: the value. After fork: safe; freestanding.
#pragma once

#include <asm/unistd.h>

#include <cstdint>

namespace oncelatch::sandbox::sys {

#if defined(__x86_64__)
inline long raw(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
inline long raw(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
  return x0;
}
#else
#error "only x86-64 and aarch64"
#endif

template <class T>
long word(T value) {
  if constexpr (__is_same(T, decltype(nullptr))) {
    return 0;
  } else if constexpr (__is_enum(T)) {
    return static_cast<long>(value);
  } else {
    return (long)value;  // integer or pointer
  }
}

template <class... Words>
long call(long number, Words... words) {
  long all[6] = {word(words)...};
  return raw(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

inline long close(int fd) {
  return call(__NR_close, fd);
}

[[noreturn]] inline void exit(int code) {
  for (;;) call(__NR_exit_group, code);
}

}  // namespace oncelatch::sandbox::sys
