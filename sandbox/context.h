// What the stages of oncelatch-exec share. One process, one value; the first process inside and the program's process
// work on their own copies after the fork.
//
//   Outcome limit_processes(Context& context) {
//     if (long rc = …; rc < 0) return failed(rc, "RLIMIT_NPROC");
//     return {};
//   }
//
// Ownership: borrows the plan. Threads: one. Failure: an Outcome whose error is an errno. After fork: safe;
// freestanding.
#pragma once

#include <asm/errno.h>

#include "sandbox/plan_wire.h"
#include "sandbox/stage.h"
#include "sandbox/syscall.h"

namespace oncelatch::sandbox {

struct [[nodiscard]] Outcome {
  int error = 0;  // errno, 0: done
  const char* object = "";
};

inline Outcome failed(long negative_errno, const char* object) {
  return {static_cast<int>(-negative_errno), object};
}

inline constexpr std::uint64_t kNoListener = std::uint64_t{1} << 32;  // in place of a descriptor's number

struct Context {
  WirePlan* plan = nullptr;
  const unsigned char* message = nullptr;  // the plan's bytes, mapped
  std::size_t message_size = 0;
  int program = -1;                // the verified file
  int sources[kMostSources] = {};  // trees or O_PATH descriptors, as the plan has them
  int root = 0;                    // the new root's mount
  int lower = -1;                  // O_PATH: what lies below the overlay, of its own mount
  int temporary = -1;              // the one tmpfs that every temporary directory lies in
  int outer_pid = 0;               // of the process that waits outside, in its own namespace
  int outer_pidfd = 0;
  int inside_pidfd = 0;  // first process inside, seen from outside
  int inside_pid = 0;
  int scope_target = -1;     // a listening socket outside the Landlock domain
  long dumpable_before = 0;  // of the program's process, as it came from the first one
  int program_pidfd = -1;
  int listener_event = -1;  // eventfd: the number of the guard's listener, once it is there
  unsigned umask = 022;     // the launcher's, for the program
};

// A record through the status pipe (one write). Never fails loudly: nobody may be listening any more.
void report(StatusRecord::Kind kind, Stage stage, const Outcome& outcome);
void set_text(StatusRecord& record, const char* text);
[[noreturn]] void give_up(Stage stage, const Outcome& outcome);

inline constexpr int kExitFault = 125;

// First of the program's streams that is a terminal, or -1.
int terminal_descriptor();

// A path for a call relative to the new root, which is the working directory while it is built.
inline const char* inside(const Text& target) {
  return target.data + 1;
}
inline bool has(const WirePlan& plan, std::uint32_t flag) {
  return (plan.flags & flag) != 0;
}

}  // namespace oncelatch::sandbox
