#include "redact/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redact/literal_set.h"

namespace oncelatch::redact {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::vector<std::string> strings(const std::vector<WipedText>& texts) {
  std::vector<std::string> result;
  for (const WipedText& text : texts) result.emplace_back(text.view());
  return result;
}

TEST(Forms, OfASecretWithReservedCharacters) {
  Forms forms = Forms::of(Secret::copy_of("it's ~a?"));
  EXPECT_THAT(strings(forms.rule),
              ElementsAre("it%27s+%7Ea%3F", "it%27s+%7ea%3f", "it's%20~a%3F", "it's%20~a%3f",
                          "aXQncyB+YT8=", "aXQncyB-YT8=", "aXQncyB+YT8", "aXQncyB-YT8", "it's ~a?"));
}

TEST(Forms, EqualFormsCountOnce) {
  EXPECT_THAT(strings(Forms::of(Secret::copy_of("abc")).rule), ElementsAre("YWJj", "abc"));
}

TEST(Forms, ExtendedOnesAreLongEnough) {
  Forms forms = Forms::of(Secret::copy_of("plainalphanumeric0042"));
  std::vector<std::string> extended = strings(forms.extended);
  EXPECT_THAT(extended, Contains("706c61696e616c7068616e756d6572696330303432"));
  EXPECT_THAT(extended, Contains("WluYWxwaGFudW1lcmljMDA0").Times(0));
  for (const std::string& text : extended) EXPECT_GE(text.size(), 8U);
  EXPECT_TRUE(Forms::of(Secret::copy_of("z")).extended.empty());
}

// base64 of (before + secret + after) holds the core for that offset, whatever stands around it.
TEST(Forms, CoresStandInEveryLongerEncoding) {
  Forms forms = Forms::of(Secret::copy_of("plainalphanumeric0042"));
  std::vector<std::string> extended = strings(forms.extended);
  for (const char* before : {"", "x", "xy", "xyz", "\xff\xfe"}) {
    for (const char* after : {"", "q", "qr", "\xff\xff"}) {
      std::string whole = std::string(before) + "plainalphanumeric0042" + after;
      for (const std::string& form : strings(Forms::of(Secret::copy_of(whole)).rule)) {
        bool base64 = form.find("plain") == std::string::npos;
        bool found = std::any_of(extended.begin(), extended.end(),
                                 [&](const std::string& core) { return form.find(core) != std::string::npos; });
        EXPECT_TRUE(found || !base64) << form;
      }
    }
  }
}

TEST(Forms, UnitsAreUtf16) {
  EXPECT_EQ(utf16_units("abc"), 3U);
  EXPECT_EQ(utf16_units("é水"), 2U);
  EXPECT_EQ(utf16_units("\U0001F600"), 2U);
  EXPECT_EQ(utf16_units("\xff\xfe"), 2U);
}

TEST(LiteralSet, FindsOverlappingAndOneByteLiterals) {
  std::vector<LiteralSet::Entry> entries;
  std::size_t owner = 0;
  for (const char* text : {"aa", "a", "aab"}) {
    WipedText literal(8);
    literal.append(std::string_view(text));
    entries.push_back({std::move(literal), owner++, true});
  }
  LiteralSet set(std::move(entries));
  std::vector<std::size_t> counts(3);
  EXPECT_FALSE(set.any("aaab", [&](const LiteralSet::Match& match) {
    ++counts[match.owner];
    return false;
  }));
  EXPECT_THAT(counts, ElementsAre(2U, 3U, 1U));
  EXPECT_FALSE(LiteralSet().any("a", [](const LiteralSet::Match&) { return true; }));
}

}  // namespace
}  // namespace oncelatch::redact
