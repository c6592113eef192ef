#include "base/clock.h"

#include <gtest/gtest.h>

namespace oncelatch {
namespace {

TEST(Clock, WritesRfc3339WithNanoseconds) {
  EXPECT_EQ(rfc3339(Nanoseconds(0)), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(rfc3339(Nanoseconds(1'769'903'999'123'456'789)), "2026-01-31T23:59:59.123456789Z");
}

TEST(Clock, WritesTimesBeforeTheEpoch) {
  EXPECT_EQ(rfc3339(Nanoseconds(-1)), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(rfc3339(Nanoseconds(-1'000'000'000)), "1969-12-31T23:59:59.000000000Z");
}

TEST(Clock, ManualClockMovesOnlyWhenTold) {
  ManualClock clock;
  Nanoseconds wall = clock.wall();
  EXPECT_EQ(clock.monotonic(), Nanoseconds(0));
  clock.advance(std::chrono::seconds(2));
  EXPECT_EQ(clock.monotonic(), std::chrono::seconds(2));
  EXPECT_EQ(clock.wall() - wall, std::chrono::seconds(2));
}

TEST(Clock, SystemClockRuns) {
  SystemClock clock;
  Nanoseconds first = clock.monotonic();
  EXPECT_GE(clock.monotonic(), first);
  EXPECT_GT(clock.wall(), Nanoseconds(1'700'000'000'000'000'000));
}

}  // namespace
}  // namespace oncelatch
