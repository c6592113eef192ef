// One attempt per kernel feature, made in a child where it would change the process. Each returns 0 or an errno.
//
//   int error = probes::user_namespace();   // clone, uid map, tmpfs, proc: all of it
//
// Ownership: none. Threads: any; children run only raw calls. Failure: the errno. After fork: no.
#pragma once

namespace oncelatch::sandbox::probes {

struct NamespaceFault {
  int error = 0;
  const char* step = "";  // what failed
};

[[nodiscard]] NamespaceFault user_namespace();
[[nodiscard]] NamespaceFault network_namespace();
[[nodiscard]] int landlock_abi();     // negative: -errno
[[nodiscard]] int landlock_errata();  // mask of what is fixed; negative: -errno
[[nodiscard]] int process_children();
[[nodiscard]] int seccomp_actions();  // what the kernel offers, without trying
[[nodiscard]] int seccomp_filter();
[[nodiscard]] int listener();         // as the broker needs it, loaded in a child
[[nodiscard]] int listener_action();  // only whether the kernel has it
[[nodiscard]] int no_new_privileges();
[[nodiscard]] int pidfd();
[[nodiscard]] int openat2();
[[nodiscard]] int memory_seals();
[[nodiscard]] int mount_calls();

}  // namespace oncelatch::sandbox::probes
