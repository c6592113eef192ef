#include "base/secret.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <ostream>
#include <type_traits>
#include <utility>

namespace oncelatch {
namespace {

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

static_assert(!std::is_copy_constructible_v<Secret>);
static_assert(!std::is_copy_assignable_v<Secret>);
static_assert(!std::is_default_constructible_v<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);
static_assert(!Streamable<Secret>);
static_assert(!fmt::is_formattable<Secret>::value);

TEST(Secret, KeepsItsValueThroughMoves) {
  Secret first = Secret::copy_of(std::string_view("a\0b", 3));
  Secret second = std::move(first);
  EXPECT_EQ(second.reveal(), std::string_view("a\0b", 3));
  EXPECT_EQ(first.size(), 0U);  // NOLINT: the state after a move is part of the contract
  EXPECT_TRUE(first.reveal().empty());
  Secret third = Secret::copy_of("other");
  third = std::move(second);
  EXPECT_EQ(third.size(), 3U);
}

TEST(Secret, EmptyValueIsAllowed) {
  EXPECT_TRUE(Secret::copy_of("").reveal().empty());
}

TEST(SecretDeathTest, MemoryIsReadOnly) {
  Secret secret = Secret::copy_of("read only");
  EXPECT_DEATH(*const_cast<char*>(secret.reveal().data()) = 'x', "");
}

TEST(SecretDeathTest, ReadingPastTheEndIsCaught) {
  Secret secret = Secret::copy_of(std::string(16, 'x'));  // sodium_malloc ends a value at a guard page
  EXPECT_DEATH({ [[maybe_unused]] volatile char next = *(secret.reveal().data() + 16); }, "");
}

}  // namespace
}  // namespace oncelatch
