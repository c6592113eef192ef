// What a new child does between vfork and exec: only async-signal-safe calls on data made before.
//
//   ChildPlan plan = ...;                       // in the parent
//   if (vfork() == 0) run_child(plan);          // does not return
//
// Ownership: points into the parent's data, which the child shares: what it changes is the plan itself, so a plan
// serves one child. Threads: none in the child.
// Failure: {stage, errno} on the status pipe, exit code 127. After fork: made for it. Internal to base/.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace oncelatch {

enum class ChildStage : std::int32_t { groups, session, parent_death, descriptors, directory, signals, execute };

// Text for the error message.
[[nodiscard]] const char* child_stage_name(ChildStage stage);

struct ChildFault {
  ChildStage stage;
  std::int32_t errno_value;
};

struct ChildPlan {
  struct Descriptor {
    int number;     // in the child
    int source;     // ours
    int temporary;  // filled in the child: a copy above every number in use
  };
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;  // nullptr: unchanged
  std::vector<Descriptor> descriptors;
  const int* enroll = nullptr;  // descriptors of cgroup.procs
  std::size_t enroll_count = 0;
  int first_free = 3;  // above every `number`
  int executable_fd = -1;
  int status_fd = -1;
  pid_t parent = 0;
  bool new_session = false;
  int death_signal = 0;
};

[[noreturn]] void run_child(ChildPlan& plan);

}  // namespace oncelatch
