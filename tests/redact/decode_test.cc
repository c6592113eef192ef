#include "redact/decode.h"

#include <gtest/gtest.h>

#include "redact/views.h"

namespace oncelatch::redact {
namespace {

TEST(Decode, Percent) {
  EXPECT_EQ(percent_decode("a%20b"), "a b");
  EXPECT_EQ(percent_decode("%c3%A9"), "é");
  EXPECT_EQ(percent_decode("%ff x %C3"), "\uFFFD x \uFFFD");
  EXPECT_EQ(percent_decode("%QZ % %4 %2"), "%QZ % %4 %2");
  EXPECT_EQ(percent_decode("100%"), "100%");
  EXPECT_EQ(percent_decode("%2541"), "%41");
  EXPECT_EQ(percent_decode(""), "");
}

TEST(Decode, Json) {
  EXPECT_EQ(json_unescape(R"(say \"hi\"\\now\/ \u0041\x41\n)"), "say \"hi\"\\now/ AA\n");
  EXPECT_EQ(json_unescape(R"(\ud83d\ude00)"), "\U0001F600");
  EXPECT_EQ(json_unescape(R"(\ud83d \q \u12 \x4 \)"), "\uFFFD \\q \\u12 \\x4 \\");
}

TEST(Decode, Html) {
  EXPECT_EQ(html_unescape("&lt;a&gt; &amp; &quot;&apos; &#39;&#x41;"), "<a> & \"' 'A");
  EXPECT_EQ(html_unescape("&unknown; &# &#x; &#99999999; & &;"), "&unknown; &# &#x; &#99999999; & &;");
  EXPECT_EQ(html_unescape("&#1114112;"), "\uFFFD");
}

TEST(Views, FourPercentLevelsAndPlusCopies) {
  EXPECT_TRUE(percent_candidates("plain").empty());
  EXPECT_TRUE(percent_candidates("100% %QZ").empty());
  EXPECT_EQ(percent_candidates("1+1"), (std::vector<std::string>{"1 1"}));
  EXPECT_EQ(percent_candidates("a%2520b"), (std::vector<std::string>{"a%20b", "a b"}));
  EXPECT_EQ(percent_candidates("%252525252541").back(), "%2541");
  EXPECT_LE(percent_candidates("%25252b%252b%2b+%2525252b").size(), 30U);
}

TEST(Views, OrdinaryTextStaysWithinTheBound) {
  auto views = decoded_views(R"(GET /?q=a+b%20c&amp;x=\"C:\\new\" 100% {"k":"v\n"} if (a && b) c = a % b + d;)");
  ASSERT_TRUE(views.has_value());
  EXPECT_LE(views->size(), 32U);
}

TEST(Views, HostileTextIsGivenUp) {
  std::string text = "+\\\\u005c\\u005c&amp;amp;amp;%2525252b%255c%2526amp;+";
  for (int i = 0; i < 4; ++i) text += "%25252526amp;\\u005cu0025" + text;
  EXPECT_FALSE(decoded_views(text).has_value());
}

}  // namespace
}  // namespace oncelatch::redact
