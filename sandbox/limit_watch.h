// What the first process inside watches, where the kernel has no counter of its own that ends the session: memory of
// all processes together (only without a control group) and a number of processes that stays at its limit.
//
//   LimitWatch limits(plan);                     // before the message is forgotten
//   poll(..., until limits.next_look());
//   if (limits.due()) if (Ending hit = limits.look(); hit != Ending::unknown) end_everything(hit);
//
// Cheap while little runs: the number that the newest process got bounds how many there can be, so /proc is read only
// when there may be many, or when memory is to be counted. Ownership: numbers. Threads: one. Failure: a process that
// can't be read isn't counted; where /proc can't be read at all the memory limit counts as broken. After fork: safe;
// freestanding.
#pragma once

#include "sandbox/context.h"

namespace oncelatch::sandbox {

[[nodiscard]] long milliseconds_now();

class LimitWatch {
 public:
  explicit LimitWatch(const WirePlan& plan);
  [[nodiscard]] bool watches() const { return processes_ != 0 || memory_ != 0; }
  [[nodiscard]] long next_look() const { return next_; }  // on the clock of milliseconds_now(); 0: never
  [[nodiscard]] bool refuses_more() const;  // one process more can't be made now; only where one may be counted
  [[nodiscard]] bool due() const { return next_ != 0 && milliseconds_now() >= next_; }
  // Looks once and says which limit is broken: memory at once (after two seconds while a process
  // that is being started has its parent's memory, which is then counted twice), processes after two seconds at it.
  [[nodiscard]] Ending look();

 private:
  struct Count {
    std::uint64_t tasks = 0;  // threads count, as they do for the kernel
    std::uint64_t bytes = 0;  // anonymous and shared memory that is resident, and page tables
    bool complete = false;    // /proc could be read to its end
  };
  [[nodiscard]] static Count count(bool parts);
  [[nodiscard]] bool is_over(const Count& now, long elapsed);
  [[nodiscard]] bool may_be_many();
  [[nodiscard]] bool at_the_limit(std::uint64_t tasks) const;
  [[nodiscard]] Ending judge(const Count& now, long elapsed);
  [[nodiscard]] long pause(const Count& now, long cost) const;

  std::uint64_t memory_ = 0;
  std::uint64_t processes_ = 0;
  std::uint64_t tasks_ = 0;   // when last counted
  std::uint64_t newest_ = 0;  // number of the newest process at the last look
  std::uint64_t made_ = 0;    // since the look before
  long held_ = 0;             // milliseconds at the limit of processes
  long lent_ = 0;             // milliseconds over that of memory while a process had its parent's memory
  long last_ = 0;
  long next_ = 0;
};

}  // namespace oncelatch::sandbox
