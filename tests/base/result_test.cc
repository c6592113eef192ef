#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/fd.h"

namespace oncelatch {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail("half", std::to_string(number), "is odd", "double it");
  return number / 2;
}

Result<int> quarter(int number) {
  int halved = TRY(half(number));
  return half(halved);
}

Status check(int number) {
  TRY(half(number));
  return {};
}

TEST(Result, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().object, "3");
  EXPECT_EQ(quarter(7).error().object, "7");
  EXPECT_TRUE(check(2));
  EXPECT_FALSE(check(1));
}

TEST(Result, MessageHasStageObjectWhatAndTry) {
  EXPECT_EQ(half(3).error().message(), "half: 3: is odd\n  try: double it");
  Failure failure = fail_errno("open", "/x", ENOENT, {}, "stat");
  EXPECT_EQ(failure.value().message(), "open: /x: stat: No such file or directory");
  EXPECT_EQ(failure.value().errno_value, ENOENT);
}

TEST(Fd, ClosesOnceAndGivesAway) {
  int raw = ::dup(0);
  ASSERT_GE(raw, 0);
  {
    Fd first(raw);
    Fd second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT: the state after a move is part of the contract
    EXPECT_EQ(second.get(), raw);
    Fd& same = second;
    second = std::move(same);
    EXPECT_EQ(second.get(), raw);
  }
  EXPECT_EQ(::close(raw), -1);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace oncelatch
