// What the first process inside watches, where the kernel has no counter of its own that ends the session: memory of
// all processes together (only without a control group) and a number of processes that stays at its limit.
//
//   LimitWatch limits(plan);                     // before the message is forgotten
//   poll(..., until limits.next_look());
//   if (limits.due()) if (LimitHit hit = limits.look(); hit != LimitHit::none) end_everything(hit);
//
// Cheap while little runs: the number that the newest process got bounds how many there can be, so /proc is read only
// when there may be many, or when memory is to be counted. Ownership: numbers. Threads: one. Failure: what can't be
// read isn't counted: the kernel's own limits hold without this. After fork: safe; freestanding.
#pragma once

#include "sandbox/context.h"

namespace oncelatch::sandbox {

[[nodiscard]] long milliseconds_now();

class LimitWatch {
 public:
  explicit LimitWatch(const WirePlan& plan);
  [[nodiscard]] bool watches() const { return processes_ != 0 || memory_ != 0; }
  [[nodiscard]] long next_look() const { return next_; }  // on the clock of milliseconds_now(); 0: never
  [[nodiscard]] bool due() const { return next_ != 0 && milliseconds_now() >= next_; }
  // Looks once and says which limit is broken: memory at once, processes after two seconds at the limit.
  [[nodiscard]] LimitHit look();

 private:
  struct Count {
    std::uint64_t tasks = 0;  // threads count, as they do for the kernel
    std::uint64_t bytes = 0;  // anonymous and shared memory that is resident
  };
  [[nodiscard]] static Count count(bool parts);
  [[nodiscard]] bool may_be_many();
  [[nodiscard]] bool at_the_limit(std::uint64_t tasks) const;
  [[nodiscard]] LimitHit judge(const Count& now, long elapsed);
  [[nodiscard]] long pause(const Count& now, long cost) const;

  std::uint64_t memory_ = 0;
  std::uint64_t processes_ = 0;
  std::uint64_t tasks_ = 0;   // when last counted
  std::uint64_t newest_ = 0;  // number of the newest process at the last look
  std::uint64_t made_ = 0;    // since the look before
  long held_ = 0;             // milliseconds at the limit
  long last_ = 0;
  long next_ = 0;
};

}  // namespace oncelatch::sandbox
