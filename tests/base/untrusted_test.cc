#include "base/untrusted.h"

#include <gtest/gtest.h>

#include <ostream>

namespace oncelatch {
namespace {

struct DisplayCase {
  const char* name;
  std::string input;
  std::string shown;
};

void PrintTo(const DisplayCase& value, std::ostream* out) {
  *out << value.name;
}

class Display : public testing::TestWithParam<DisplayCase> {};

TEST_P(Display, IsEscaped) {
  EXPECT_EQ(escape_for_display(GetParam().input, 100), GetParam().shown);
}

const DisplayCase kCases[] = {
    {"Plain", "git push", "git push"},
    {"Empty", "", ""},
    {"Newline", "a\nb", "a\\nb"},
    {"CarriageReturnAndTab", "a\r\tb", "a\\r\\tb"},
    {"Escape", "\x1b[2J", "\\x1b[2J"},
    {"Nul", std::string("a\0b", 3), "a\\x00b"},
    {"Delete", "a\x7f", "a\\x7f"},
    {"Backslash", "a\\nb", "a\\\\nb"},
    {"C1ControlSequenceIntroducer",
     "\xC2\x9B"
     "2J",
     "\\u{9b}2J"},
    {"RawC1ByteIsInvalid",
     "\x9b"
     "2J",
     "\\x9b2J"},
    {"RightToLeftOverride", "a\u202Eb", "a\\u{202e}b"},
    {"Isolates", "\u2066x\u2069", "\\u{2066}x\\u{2069}"},
    {"ZeroWidthSpace", "r\u200Bm", "r\\u{200b}m"},
    {"ZeroWidthJoiner", "a\u200Db", "a\\u{200d}b"},
    {"ByteOrderMark", "\uFEFFx", "\\u{feff}x"},
    {"SoftHyphen", "a\u00ADb", "a\\u{ad}b"},
    {"LineSeparator", "a\u2028b\u2029", "a\\u{2028}b\\u{2029}"},
    {"TagCharacters", "a\U000E0041", "a\\u{e0041}"},
    {"VariationSelectorSupplement", "a\U000E0101", "a\\u{e0101}"},
    {"PrivateUse", "\uE000", "\\u{e000}"},
    {"Unassigned", "\U000E0FFF", "\\u{e0fff}"},
    {"NoBreakSpace", "rm\u00A0-rf", "rm\\u{a0}-rf"},
    {"HangulFiller", "\u3164", "\\u{3164}"},
    {"IdeographicSpaceStays", "是\u3000否", "是\u3000否"},
    {"Chinese", "允许一次", "允许一次"},
    {"Emoji", "❤\uFE0F", "❤\uFE0F"},
    {"InvalidByte",
     "a\xff"
     "b",
     "a\\xffb"},
    {"OverlongSlash", "\xC0\xAF", "\\xc0\\xaf"},
    {"Utf8Surrogate", "\xED\xA0\x80", "\\xed\\xa0\\x80"},
    {"TruncatedSequence", "a\xE2\x82", "a\\xe2\\x82"},
    {"BeyondUnicode", "\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    {"FourMarksStay", "e\u0301\u0302\u0303\u0304", "e\u0301\u0302\u0303\u0304"},
    {"FifthMarkIsEscaped", "e\u0301\u0302\u0303\u0304\u0305", "e\u0301\u0302\u0303\u0304\\u{305}"},
    {"MarkWithoutBase", "\u0301x", "\\u{301}x"},
    {"MarkBehindAnEscape", "\x1b\u0301", "\\x1b\\u{301}"},
};

INSTANTIATE_TEST_SUITE_P(Untrusted, Display, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<DisplayCase>& test) { return test.param.name; });

TEST(Untrusted, ClipCountsCodePointsOfTheSource) {
  EXPECT_EQ(escape_for_display("abcdef", 6), "abcdef");
  EXPECT_EQ(escape_for_display("abcdef", 4), "abcd…(+2)");
  EXPECT_EQ(escape_for_display("é\n水路", 2), "é\\n…(+2)");
  EXPECT_EQ(escape_for_display("a\xff\xfe", 1), "a…(+2)");
  EXPECT_EQ(escape_for_display("abc", 0), "…(+3)");
  EXPECT_EQ(escape_for_display("", 0), "");
}

TEST(Untrusted, LongTextIsLinear) {
  std::string text(std::size_t{4} << 20, '\x1b');
  EXPECT_EQ(escape_for_display(text, 1), "\\x1b…(+4194303)");
}

TEST(Untrusted, ComparesBytes) {
  EXPECT_EQ(Untrusted("a"), Untrusted("a"));
  EXPECT_FALSE(Untrusted("a") == Untrusted("b"));
  EXPECT_TRUE(Untrusted().empty());
}

TEST(Untrusted, DisplayIsClippedByDefault) {
  std::string shown = Untrusted(std::string(2000, 'x')).display();
  EXPECT_EQ(shown.find_first_not_of('x'), 1024U);
  EXPECT_EQ(shown.substr(1024), "…(+976)");
}

TEST(Untrusted, WidthInCells) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("水路"), 4U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("\xff\xfe"), 2U);
  EXPECT_EQ(display_width(""), 0U);
}

TEST(Untrusted, ValidUtf8) {
  EXPECT_TRUE(valid_utf8(""));
  EXPECT_TRUE(valid_utf8("é水\U0001F600"));
  EXPECT_TRUE(valid_utf8("\xEF\xBF\xBF"));  // a noncharacter is well-formed
  EXPECT_FALSE(valid_utf8("\xC0\x80"));
  EXPECT_FALSE(valid_utf8("\xED\xA0\x80"));
  EXPECT_FALSE(valid_utf8("\xF5\x80\x80\x80"));
  EXPECT_FALSE(valid_utf8("a\x80"));
}

}  // namespace
}  // namespace oncelatch
