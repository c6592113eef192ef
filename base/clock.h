// Time that tests can replace.
//
//   void wait_until(Clock& clock, Monotonic deadline);
//
// Units: nanoseconds. Ownership: whoever makes a clock outlives its users. Threads: SystemClock is stateless;
// ManualClock is for one thread. Failure: none. After fork: safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace oncelatch {

using Nanoseconds = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  // CLOCK_MONOTONIC, for intervals.
  [[nodiscard]] virtual Nanoseconds monotonic() const = 0;
  // CLOCK_REALTIME since the epoch, for records.
  [[nodiscard]] virtual Nanoseconds wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Nanoseconds monotonic() const override;
  [[nodiscard]] Nanoseconds wall() const override;
};

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Nanoseconds monotonic() const override { return now_; }
  [[nodiscard]] Nanoseconds wall() const override { return wall_base_ + now_; }
  void advance(Nanoseconds by) { now_ += by; }

 private:
  Nanoseconds now_{0};
  Nanoseconds wall_base_{1'800'000'000'000'000'000};
};

// RFC 3339 in UTC with nanoseconds: 2026-01-31T23:59:59.123456789Z.
[[nodiscard]] std::string rfc3339(Nanoseconds since_epoch);

}  // namespace oncelatch
