#include "redact/redactor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ostream>
#include <type_traits>

namespace oncelatch::redact {
namespace {

static_assert(!std::is_copy_constructible_v<Redactor>);
static_assert(std::is_move_constructible_v<Redactor>);

const std::string kGone = std::string(kMarker);

Redactor knows(std::initializer_list<std::string_view> values) {
  std::vector<Secret> secrets;
  for (std::string_view value : values) secrets.push_back(Secret::copy_of(value));
  return Redactor(std::move(secrets));
}

TEST(Redactor, EnvironmentGivesCredentialsOnly) {
  Redactor redactor = Redactor::from_environment({"KIRO_API_KEY=first-secret-1", "AWS_REGION=eu-north-1",
                                                  "KIRO_X_TOKEN=", "NOEQUALS", "kiro_y_token=with=equals=9"});
  EXPECT_EQ(redactor.text("first-secret-1 eu-north-1"), kGone + " eu-north-1");
  EXPECT_EQ(redactor.text("with=equals=9"), kGone);
  EXPECT_EQ(redactor.text("equals"), "equals");
}

TEST(Redactor, NoTrimming) {
  EXPECT_EQ(knows({" padded value "}).text("padded value"), "padded value");
}

TEST(Redactor, LongestSecretFirst) {
  EXPECT_EQ(knows({"prefix-secret", "prefix-secret-tail"}).text("x prefix-secret-tail y"), "x " + kGone + " y");
}

TEST(Redactor, ShortCountsUtf16Units) {
  EXPECT_EQ(knows({"水路水路水路水"}).text("x 水路水路水路水 y"), kGone);  // 7 units, 21 bytes
  EXPECT_EQ(knows({"\U0001F600\U0001F600\U0001F600\U0001F600"}).text("x \U0001F600\U0001F600\U0001F600\U0001F600"),
            "x " + kGone);  // 8
}

TEST(Redactor, PercentOrPlusElsewhereTakesTheWholeString) {
  Redactor redactor = knows({"plainalphanumeric0042"});
  EXPECT_EQ(redactor.text("plainalphanumeric0042 at 50%25"), kGone);
  EXPECT_EQ(redactor.text("plainalphanumeric0042 at 50%"), kGone + " at 50%");
  EXPECT_EQ(redactor.text("1+1 %41"), "1+1 %41");
}

TEST(Redactor, BackslashElsewhereDoesNot) {
  EXPECT_EQ(knows({"plainalphanumeric0042"}).text(R"(C:\new plainalphanumeric0042)"), R"(C:\new )" + kGone);
}

TEST(Redactor, ReplacingNeverMakesANewSecret) {
  Redactor redactor = knows({"inner-secret", kGone + "-outer", "xx" + kGone + "yy"});
  EXPECT_EQ(redactor.text("inner-secret-outer"), kGone);
  EXPECT_EQ(redactor.text("xxinner-secretyy"), kGone);
}

TEST(Redactor, MarkerThatHoldsASecretIsReplaced) {
  Redactor redactor = knows({"redacted", "credential"});
  EXPECT_EQ(redactor.marker(), "[***]");
  std::string once = redactor.text("a credential, redacted");
  EXPECT_EQ(once, "a [***], [***]");
  EXPECT_EQ(redactor.text(once), once);
}

TEST(Redactor, ShortSecretInsideTheMarkerIsStable) {
  Redactor redactor = knows({"Kiro", "a-longer-secret"});
  EXPECT_EQ(redactor.text("a-longer-secret"), kGone);
  EXPECT_EQ(redactor.text(kGone), kGone);
  EXPECT_FALSE(redactor.contains_secret("x " + kGone + " y"));
  EXPECT_TRUE(redactor.contains_secret("x " + kGone + " Kiro"));
}

struct ExtraForm {
  const char* name;
  std::string text;
};

void PrintTo(const ExtraForm& value, std::ostream* out) {
  *out << value.name;
}

class FindsExtraForms : public testing::TestWithParam<ExtraForm> {};

TEST_P(FindsExtraForms, WholeStringGoes) {
  Redactor redactor = knows({"Quartz/Meadow?\"Key\"=17"});
  EXPECT_EQ(redactor.text(GetParam().text), kGone);
  EXPECT_TRUE(redactor.contains_secret(GetParam().text));
}

const ExtraForm kExtra[] = {
    {"JsonEscaped", R"({"k":"Quartz/Meadow?\"Key\"=17"})"},
    {"JsonEscapedTwice", R"("{\"k\":\"Quartz/Meadow?\\\"Key\\\"=17\"}")"},
    {"JsonUnicodeEscapes", R"(Quartz\u002fMeadow\u003f\u0022Key\u0022\u003d17)"},
    {"JsonSlash", R"(Quartz\/Meadow?\"Key\"=17)"},
    {"Html", "Quartz/Meadow?&quot;Key&quot;=17"},
    {"HtmlNumeric", "Quartz&#47;Meadow&#x3F;&#34;Key&#34;=17"},
    {"PercentInJson", R"({"u":"Quartz%2FMeadow%3F\u002522Key%22%3D17"})"},
    {"HtmlOfJson", "{&quot;k&quot;:&quot;Quartz/Meadow?\\&quot;Key\\&quot;=17&quot;}"},
    {"HexUpper", "dump 51756172747A2F4D6561646F773F224B6579223D3137"},
    {"HexInJsonNoise", R"(\n51756172747a2f4d6561646f773f224b6579223d3137\n)"},
};

INSTANTIATE_TEST_SUITE_P(Redactor, FindsExtraForms, testing::ValuesIn(kExtra),
                         [](const testing::TestParamInfo<ExtraForm>& test) { return test.param.name; });

TEST(Redactor, LongTextWithCandidatesGoesWhole) {
  Redactor redactor = knows({"plainalphanumeric0042"});
  std::string most(std::size_t{1} << 20, 'x');
  most[10] = '+';
  EXPECT_TRUE(redactor.text(most) == most);
  EXPECT_TRUE(redactor.text(most + "x") == kGone);
  most[10] = '%';  // not an escape
  EXPECT_TRUE(redactor.text(most + "x") == most + "x");
}

TEST(Redactor, LongTextWithoutCandidatesIsReplacedInPlace) {
  Redactor redactor = knows({"plainalphanumeric0042"});
  std::string filler(std::size_t{3} << 20, 'x');
  EXPECT_TRUE(redactor.text(filler + "plainalphanumeric0042" + filler) == filler + kGone + filler);
}

TEST(Redactor, HostileDecodingFailsClosedAndInTime) {
  Redactor redactor = knows({"plainalphanumeric0042"});
  std::string text = "+\\\\u005c\\u005c&amp;amp;amp;%2525252b%255c%2526amp;+";
  for (int i = 0; i < 12; ++i) text += "%25252526amp;\\u005cu0025" + text;
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(redactor.text(text) == kGone);
  EXPECT_TRUE(redactor.contains_secret(text));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Redactor, GateFindsSecretsAcrossWindows) {
  Redactor redactor = knows({"plainalphanumeric0042"});
  for (std::size_t before :
       {std::size_t{0}, (std::size_t{1} << 18) - 10, (std::size_t{1} << 18) + 300, std::size_t{1} << 20}) {
    std::string bytes = std::string(before, ' ') + R"("plainalphanumeric\u0030042")" + std::string(600'000, ' ');
    EXPECT_TRUE(redactor.contains_secret(bytes)) << before;
    bytes[before + 3] = 'X';
    EXPECT_FALSE(redactor.contains_secret(bytes)) << before;
  }
}

TEST(Redactor, GateFindsWhatTheStringRuleCannot) {
  Redactor redactor = knows({"1234567890"});
  Json value = {{"number", 1234567890}, {"text", "ok"}};
  EXPECT_EQ(redactor.value(value), value) << "numbers stay";
  EXPECT_TRUE(redactor.contains_secret(dump_json(value)));
  EXPECT_FALSE(redactor.contains_secret("{\"number\":123456789}"));
}

TEST(Redactor, GateLeavesOutVeryShortSecrets) {
  EXPECT_FALSE(knows({"e"}).contains_secret("{\"key\":1}"));
  EXPECT_TRUE(knows({"pin4"}).contains_secret("{\"key\":\"pin4\"}"));
  EXPECT_FALSE(knows({}).contains_secret("anything"));
}

TEST(Redactor, ValuesOfOtherKindsStay) {
  Redactor redactor = knows({"plainalphanumeric0042"});
  Json value = {{"n", nullptr}, {"b", true}, {"i", -3}, {"f", 1.5}, {"a", Json::array()}, {"o", Json::object()}};
  EXPECT_EQ(redactor.value(value), value);
  EXPECT_EQ(redactor.value("plainalphanumeric0042"), kGone);
  EXPECT_EQ(redactor.value(Json()), Json());
}

TEST(Redactor, NamesWorkWithoutSecrets) {
  EXPECT_EQ(knows({}).value({{"KIRO_API_KEY", {{"deep", 1}}}, {"x", 1}}), Json({{"x", 1}}));
  EXPECT_EQ(knows({}).text("KIRO_API_KEY"), "KIRO_API_KEY");
}

TEST(Redactor, TooDeepBecomesTheMarker) {
  Json value = "leaf";
  for (int i = 0; i < 1000; ++i) value = Json::array({std::move(value)});
  Json scrubbed = knows({}).value(value);
  EXPECT_EQ(dump_json(scrubbed).find("leaf"), std::string::npos);
}

TEST(Redactor, InvalidUtf8IsSearchedToo) {
  EXPECT_EQ(knows({"plainalphanumeric0042"}).text("\xff plainalphanumeric0042 \xfe"), "\xff " + kGone + " \xfe");
  EXPECT_EQ(knows({"\xff\xfe\xfd\xfc\xff\xfe\xfd\xfc"}).text("x\xff\xfe\xfd\xfc\xff\xfe\xfd\xfcy"), "x" + kGone + "y");
}

TEST(Redactor, MovedRedactorWorks) {
  Redactor first = knows({"plainalphanumeric0042"});
  Redactor second = std::move(first);
  EXPECT_EQ(second.text("plainalphanumeric0042"), kGone);
}

}  // namespace
}  // namespace oncelatch::redact
