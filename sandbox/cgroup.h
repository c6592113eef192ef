// A control group for one session, from the best source there is: v2 where memory and pids are delegated to us (in our
// own group, or in the one above where ours binds no tighter), else the v1 hierarchies we may write, else none (then
// rlimits, kernel.pid_max and the first process inside do the work).
//
//   Cgroup group = Cgroup::make({.memory = 1 << 30, .processes = 512});
//   spawn.enroll = group.enroll();       // base/process.h: the child enters before it execs
//   ...                                  // after its end
//   if (group.ran_out_of_memory()) ...
//
// Only when a memory limit is asked for, or where no rlimit binds (`always`): entering a group may take the kernel
// milliseconds. Ownership: the group is killed and removed by the destructor, in the process that made it only; groups
// of owners that died (the name tells who) are swept by the next make(). Threads: one. Failure: the next source;
// in_words() says which it is. After fork: allocates. Built for the light program too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/control_group.h"

namespace oncelatch::sandbox {

class Cgroup {
 public:
  struct Wanted {
    std::uint64_t memory = 0;  // bytes, 0: no limit
    std::uint64_t processes = 0;
    bool always = false;  // also without a memory limit
  };
  struct Lists {  // what the kernel says about us; tests have their own
    std::string own_groups = "/proc/self/cgroup";
    std::string mounts = "/proc/self/mountinfo";
  };

  Cgroup() = default;
  [[nodiscard]] static Cgroup make(const Wanted& wanted) { return make(wanted, Lists()); }
  [[nodiscard]] static Cgroup make(const Wanted& wanted, const Lists& lists);

  // Removes what makers that have ended left.
  static void sweep();

  [[nodiscard]] bool limits_memory() const { return memory_ >= 0; }
  [[nodiscard]] bool limits_processes() const { return processes_ >= 0; }
  [[nodiscard]] std::vector<int> enroll() const;
  // Descriptor that becomes readable when memory runs out and the kernel doesn't end the whole group by itself; -1:
  // it does, or there is no group.
  [[nodiscard]] int memory_event() const { return memory_event_.get(); }
  [[nodiscard]] bool ran_out_of_memory() const;
  [[nodiscard]] bool refused_processes() const;
  [[nodiscard]] std::string in_words() const;

 private:
  [[nodiscard]] bool take_unified(const std::string& parent, const Wanted& wanted);
  [[nodiscard]] Status take_memory(const std::string& parent, std::uint64_t bytes);
  [[nodiscard]] Status take_processes(const std::string& parent, std::uint64_t most);
  std::vector<ControlGroup> groups_;
  int memory_ = -1;  // index of the group that limits it
  int processes_ = -1;
  bool unified_ = false;
  Fd memory_event_;
};

}  // namespace oncelatch::sandbox
