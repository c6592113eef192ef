#include "base/clock.h"

#include <fmt/format.h>

#include <ctime>

namespace oncelatch {

namespace {

constexpr std::int64_t kPerSecond = 1'000'000'000;

Nanoseconds read_clock(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return Nanoseconds(static_cast<std::int64_t>(now.tv_sec) * kPerSecond + now.tv_nsec);
}

}  // namespace

Nanoseconds SystemClock::monotonic() const {
  return read_clock(CLOCK_MONOTONIC);
}

Nanoseconds SystemClock::wall() const {
  return read_clock(CLOCK_REALTIME);
}

std::string rfc3339(Nanoseconds since_epoch) {
  std::int64_t seconds = since_epoch.count() / kPerSecond;
  std::int64_t rest = since_epoch.count() % kPerSecond;
  if (rest < 0) {
    rest += kPerSecond;
    --seconds;
  }
  std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, rest);
}

}  // namespace oncelatch
