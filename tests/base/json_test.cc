#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ostream>

namespace oncelatch {
namespace {

using testing::HasSubstr;
using testing::Not;

struct RefusedJson {
  const char* name;
  std::string text;
  const char* what;
};

void PrintTo(const RefusedJson& value, std::ostream* out) {
  *out << value.name;
}

class RefusesJson : public testing::TestWithParam<RefusedJson> {};

TEST_P(RefusesJson, WithOffsetAndReason) {
  Result<Json> value = parse_json(GetParam().text, {}, "line 7");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().stage, "json");
  EXPECT_EQ(value.error().object, "line 7");
  EXPECT_EQ(value.error().what, GetParam().what);
}

const RefusedJson kRefused[] = {
    {"Empty", "", "byte 0: ends too early"},
    {"Space", "  ", "byte 2: ends too early"},
    {"Comment", "/**/1", "byte 0: malformed value"},
    {"TrailingText", "{} x", "byte 3: text after the value"},
    {"SecondValue", "1 2", "byte 2: text after the value"},
    {"TrailingNul", std::string("1\0", 2), "byte 1: text after the value"},
    {"ByteOrderMark", "\xEF\xBB\xBF{}", "byte 0: malformed value"},
    {"TrailingComma", "[1,]", "byte 3: malformed value"},
    {"TrailingCommaInObject", "{\"a\":1,}", "byte 7: expected a key in double quotes"},
    {"LeadingComma", "[,1]", "byte 1: malformed value"},
    {"SingleQuotes", "{'a':1}", "byte 1: expected a key in double quotes"},
    {"NumberAsKey", "{1:1}", "byte 1: expected a key in double quotes"},
    {"NoColon", "{\"a\" 1}", "byte 5: expected ':'"},
    {"NoValue", "{\"a\":}", "byte 5: malformed value"},
    {"WrongBracket", "[1}", "byte 2: expected ',' or ']'"},
    {"WrongBrace", "{\"a\":1]", "byte 6: expected ',' or '}'"},
    {"Unclosed", "[1", "byte 2: ends too early"},
    {"NaN", "NaN", "byte 0: malformed value"},
    {"Infinity", "-Infinity", "byte 1: malformed value"},
    {"UpperTrue", "True", "byte 0: malformed value"},
    {"HalfLiteral", "tru", "byte 0: malformed value"},
    {"LeadingZero", "01", "byte 1: number with a leading zero"},
    {"Plus", "+1", "byte 0: malformed value"},
    {"LoneMinus", "-", "byte 1: malformed value"},
    {"NoFraction", "1.", "byte 2: malformed value"},
    {"NoIntegerPart", ".5", "byte 0: malformed value"},
    {"NoExponent", "1e+", "byte 3: malformed value"},
    {"Hexadecimal", "0x10", "byte 1: text after the value"},
    {"OutOfRange", "1e999", "a number is out of range"},
    {"ControlInString", "\"a\nb\"", "byte 2: control character in a string"},
    {"UnclosedString", "\"abc", "byte 4: string without an end"},
    {"EscapeAtTheEnd", "\"abc\\", "byte 4: string without an end"},
    {"UnknownEscape", "\"\\x41\"", "byte 1: unknown escape in a string"},
    {"ShortUnicodeEscape", "\"\\u12", "byte 1: string without an end"},
    {"MalformedUnicodeEscape", "\"\\u12g4\"", "byte 1: malformed \\u escape"},
    {"LoneHighSurrogate", "\"\\ud800\"", "byte 7: lone surrogate"},
    {"LoneLowSurrogate", "\"\\udc00\"", "byte 7: lone surrogate"},
    {"TwoHighSurrogates", "\"\\ud800\\ud800\"", "byte 13: lone surrogate"},
    {"InvalidUtf8", "\"\xff\"", "byte 2: invalid UTF-8 in a string"},
    {"OverlongUtf8", "\"\xc0\xaf\"", "byte 3: invalid UTF-8 in a string"},
    {"Utf8Surrogate", "\"\xed\xa0\x80\"", "byte 4: invalid UTF-8 in a string"},
    {"DuplicateKey", "{\"a\":1,\"b\":2,\"a\":3}", "byte 13: duplicate key"},
    {"DuplicateKeyEscaped", "{\"a\":1,\"\\u0061\":2}", "byte 7: duplicate key"},
    {"DuplicateKeySurrogates", "{\"\\ud83d\\ude00\":1,\"\U0001F600\":2}", "byte 18: duplicate key"},
    {"DuplicateKeySlash", "{\"a/b\":1,\"a\\/b\":2}", "byte 9: duplicate key"},
    {"DuplicateKeyDeep", "[{\"x\":{\"k\":1,\"k\":1}}]", "byte 13: duplicate key"},
    {"DuplicateEmptyKey", "{\"\":1,\"\":2}", "byte 6: duplicate key"},
};

INSTANTIATE_TEST_SUITE_P(Json, RefusesJson, testing::ValuesIn(kRefused),
                         [](const testing::TestParamInfo<RefusedJson>& test) { return test.param.name; });

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Json, ReadsValues) {
  Result<Json> value =
      parse_json(" {\"a\": [1, -2.5e1, true, false, null, \"\\u00e9\\ud83d\\ude00\\n\"], \"b\": {}} ", {}, "x");
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, Json::parse(R"({"a":[1,-25.0,true,false,null,"é😀\n"],"b":{}})"));
  for (const char* text : {"0", "-0", "1E5", "\"\"", "[]", "{}", "null", "\"\\u0000\""})
    EXPECT_TRUE(parse_json(text, {}, text));
}

TEST(Json, SameKeyInTwoObjectsIsFine) {
  EXPECT_TRUE(parse_json(R"([{"a":1},{"a":{"a":2}}])", {}, "x"));
  EXPECT_TRUE(parse_json(R"({"a":{"b":1},"b":2})", {}, "x"));
}

TEST(Json, DepthBoundIsExact) {
  EXPECT_TRUE(parse_json(nested(64), {}, "x"));
  Result<Json> deeper = parse_json(nested(65), {}, "x");
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().what, "byte 64: nested deeper than allowed");
}

TEST(Json, TwoHundredThousandArraysAreRefusedFast) {
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(parse_json(nested(200'000), {}, "x"));
  EXPECT_FALSE(parse_json(std::string(200'000, '['), {}, "x"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
}

TEST(Json, ByteBoundIsExact) {
  EXPECT_TRUE(parse_json("[1,2]", {.bytes = 5}, "x"));
  EXPECT_FALSE(parse_json("[1,2]", {.bytes = 4}, "x"));
}

TEST(Json, NodeBoundIsExact) {
  EXPECT_TRUE(parse_json("[1,{\"a\":2}]", {.nodes = 4}, "x"));
  EXPECT_FALSE(parse_json("[1,{\"a\":2}]", {.nodes = 3}, "x"));
}

TEST(Json, ErrorsNeverQuoteTheText) {
  Result<Json> value = parse_json("{\"hunter2\":1,\"hunter2\":2}", {}, "x");
  ASSERT_FALSE(value);
  EXPECT_THAT(value.error().message(), Not(HasSubstr("hunter2")));
}

TEST(Json, MembersByType) {
  Json value = Json::parse(R"({"s":"x","o":{},"a":[],"i":-3,"u":18446744073709551615,"f":1.5,"n":null})");
  EXPECT_EQ(*json_string(value, "s"), "x");
  EXPECT_EQ(json_string(value, "i"), nullptr);
  EXPECT_EQ(json_string(value, "missing"), nullptr);
  EXPECT_NE(json_object(value, "o"), nullptr);
  EXPECT_EQ(json_object(value, "a"), nullptr);
  EXPECT_NE(json_array(value, "a"), nullptr);
  EXPECT_EQ(json_array(value, "n"), nullptr);
  EXPECT_EQ(json_integer(value, "i"), -3);
  EXPECT_EQ(json_integer(value, "u"), std::nullopt);
  EXPECT_EQ(json_integer(value, "f"), std::nullopt);
  EXPECT_EQ(json_string(Json::array(), "s"), nullptr);
  EXPECT_EQ(json_string(Json("s"), "s"), nullptr);
}

TEST(Json, DumpIsOneSortedLineAndNeverThrows) {
  EXPECT_EQ(dump_json(Json{{"b", 1}, {"a", "é\n"}}), R"({"a":"é\n","b":1})");
  EXPECT_EQ(dump_json(Json("a\xff")), "\"a\uFFFD\"");
}

}  // namespace
}  // namespace oncelatch
