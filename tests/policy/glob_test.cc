#include "policy/glob.h"

#include "tests/policy/support.h"

namespace oncelatch::policy {
namespace {

using Words = std::vector<std::string>;

TEST(Glob, StarIsAnyRunAndBackslashMakesLiteral) {
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*c", "abbbc"));
  EXPECT_FALSE(glob_match("a*c", "abbb"));
  EXPECT_TRUE(glob_match("*.o", "x.y.o"));
  EXPECT_TRUE(glob_match("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(glob_match("\\*", "*"));
  EXPECT_FALSE(glob_match("\\*", "x"));
  EXPECT_TRUE(glob_match("\\\\", "\\"));
  EXPECT_TRUE(glob_match("?[a]", "?[a]")) << "only * is special";
  EXPECT_FALSE(glob_match("A", "a"));
  EXPECT_TRUE(glob_match("A*", "abc", Case::folded));
}

TEST(Glob, EscapeMatchesItselfOnly) {
  const std::string odd = "a*b\\c";
  EXPECT_TRUE(glob_match(glob_escape(odd), odd));
  EXPECT_FALSE(glob_match(glob_escape(odd), "aXb\\c"));
}

TEST(Glob, SpelledLengthCountsBeforeTheFirstStar) {
  EXPECT_EQ(spelled_length("--output=*"), 9U);
  EXPECT_EQ(spelled_length("\\*\\**"), 2U);
  EXPECT_EQ(spelled_length("abc"), std::string_view::npos);
}

TEST(Glob, ManyStarsStayQuick) {
  const std::string text(20'000, 'a');
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*b", text));
}

TEST(TokenMatch, ALastStarIsZeroOrMoreWords) {
  EXPECT_TRUE(match_words({"git", "push", "*"}, {"git", "push"}));
  EXPECT_TRUE(match_words({"git", "push", "*"}, {"git", "push", "-f", "origin"}));
  EXPECT_FALSE(match_words({"git", "push", "*"}, {"git", "pushx"}));
  EXPECT_FALSE(match_words({"git", "push", "*"}, {"git"}));
  EXPECT_FALSE(match_words({"git", "push"}, {"git", "push", "x"}));
}

TEST(TokenMatch, AMiddleStarIsOneOrMoreWords) {
  const Words pattern{"find", "*", "-delete"};
  EXPECT_TRUE(match_words(pattern, {"find", ".", "-delete"}));
  EXPECT_TRUE(match_words(pattern, {"find", ".", "-name", "*.o", "-delete"}));
  EXPECT_FALSE(match_words(pattern, {"find", "-delete"}));
  EXPECT_FALSE(match_words(pattern, {"find", ".", "-delete", "-print"}));
}

TEST(TokenMatch, ASoleStarIsEveryCommand) {
  EXPECT_TRUE(match_words({"*"}, {"ls"}));
  EXPECT_TRUE(match_words({"*"}, {"ls", "-l"}));
  EXPECT_FALSE(match_words({"*"}, {}));
  EXPECT_FALSE(match_words({}, {"ls"}));
}

TEST(TokenMatch, TheGuardKeepsAStarFromARiskyWord) {
  WildcardGuard guard;
  guard.spelled = {0, 0, 7};
  const Words argv{"find", ".", "-delete"};
  EXPECT_FALSE(match_words({"find", "*"}, argv, &guard));
  EXPECT_FALSE(match_words({"find", ".", "-d*"}, argv, &guard));
  EXPECT_TRUE(match_words({"find", "*", "-delete"}, argv, &guard));
  EXPECT_TRUE(match_words({"find", ".", "-delete"}, argv, &guard));
  guard.whole = true;
  EXPECT_FALSE(match_words({"find", "*", "-delete"}, argv, &guard));
  EXPECT_TRUE(match_words({"find", ".", "-delete"}, argv, &guard));
}

TEST(TokenMatch, AGlobInsideAWordDoesNotClimbForAllowing) {
  WildcardGuard guard;
  guard.spelled = {0, 0};
  EXPECT_TRUE(match_words({"bun", "tools/*"}, {"bun", "tools/x.ts"}, &guard));
  EXPECT_FALSE(match_words({"bun", "tools/*"}, {"bun", "tools/../../tmp/x.ts"}, &guard));
  EXPECT_TRUE(match_words({"bun", "tools/*"}, {"bun", "tools/../../tmp/x.ts"}));
  EXPECT_TRUE(match_words({"bun", "tools/*"}, {"bun", "tools/a..b"}, &guard));
}

TEST(TokenMatch, DotDotIsAWholeComponent) {
  for (const char* path : {"..", "../a", "a/..", "a/../b"}) EXPECT_TRUE(has_dot_dot(path)) << path;
  for (const char* path : {"", "...", "a..b", "..a", "a../b", "/a/b..", "HEAD..x"})
    EXPECT_FALSE(has_dot_dot(path)) << path;
}

}  // namespace
}  // namespace oncelatch::policy
