#include "base/yaml.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ostream>

namespace oncelatch {
namespace {

struct RefusedYaml {
  const char* name;
  std::string text;
  const char* place;
  const char* what;
};

void PrintTo(const RefusedYaml& value, std::ostream* out) {
  *out << value.name;
}

class RefusesYaml : public testing::TestWithParam<RefusedYaml> {};

TEST_P(RefusesYaml, WithLineAndColumn) {
  testing::internal::CaptureStderr();
  Result<YamlNode> root = parse_yaml(GetParam().text, "f");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().stage, "yaml");
  EXPECT_EQ(root.error().object, GetParam().place);
  EXPECT_EQ(root.error().what, GetParam().what);
}

constexpr const char* kAnchor = "anchors are not allowed";
constexpr const char* kAlias = "aliases are not allowed";
constexpr const char* kTag = "tags are not allowed";
constexpr const char* kKey = "a key must be a plain or quoted string";
constexpr const char* kDirective = "directives are not allowed";

const RefusedYaml kRefused[] = {
    {"DuplicateKey", "a: 1\nb: 2\na: 3\n", "f:3:1", "duplicate key"},
    {"DuplicateQuotedKey", "a: 1\n'a': 2\n", "f:2:1", "duplicate key"},
    {"DuplicateEscapedKey", "{\"a\": 1, \"\\x61\": 2}", "f:1:10", "duplicate key"},
    {"DuplicateKeyInFlow", "x: {b: c, b: d}", "f:1:11", "duplicate key"},
    {"DuplicateKeyDeep", "- x:\n    y: 1\n    y: 2\n", "f:3:5", "duplicate key"},
    {"Anchor", "a: &x 1\n", "f:1:4", kAnchor},
    {"AnchorOnMapping", "a: &x\n  b: 1\n", "f:1:4", kAnchor},
    {"AnchorOnKey", "&x a: b\n", "f:1:1", kAnchor},
    {"AnchorOnNothing", "- &a\n", "f:1:3", kAnchor},
    {"Alias", "é: ü\nb: *q\n", "f:2:4", kAlias},
    {"AliasAsKey", "*a : b\n", "f:1:1", kAlias},
    {"Tag", "a: !!str 1\n", "f:1:4", kTag},
    {"LocalTag", "!foo a: b", "f:1:1", kTag},
    {"TagOnSequence", "a: !!set [b]\n", "f:1:4", kTag},
    {"Merge", "a:\n  b: 1\n  <<: {c: 2}\n", "f:3:3", "merge keys are not allowed"},
    {"SecondDocument", "---\na: 1\n---\nb: 2\n", "f:3:1", "a second document"},
    {"SecondEmptyDocument", "a: 1\n---\n", "f:2:1", "a second document"},
    {"SequenceAsKey", "? [a]\n: b\n", "f:1:3", kKey},
    {"MappingAsKey", "? {a: b}\n: c\n", "f:1:3", kKey},
    {"FlowMappingAsKey", "{a: b}: c\n", "f:1:1", kKey},
    {"NoKey", ": a\n", "f:1:1", "a key is missing"},
    {"VersionDirective", "%YAML 1.1\n---\na: 1\n", "f:1:1", kDirective},
    {"TagDirective", "%TAG ! tag:x,2000:\n---\na: 1\n", "f:1:1", kDirective},
    {"TabIndent", "a:\n\t- b\n", "f:2:1", "tab character may not be used as indentation"},
    {"InvalidUtf8", "a: 1\nb: \xff\n", "f:2:4", "invalid UTF-8"},
    {"ControlCharacter", "a: x\x1b[2J\n", "f:1:5", "control character"},
    {"Nul", std::string("a: \0", 4), "f:1:4", "control character"},
    {"C1Control", "a: \xC2\x9B\n", "f:1:4", "control character"},
    {"Literal", "a: |\n  x\n", "f:2:1", "block scalars (| and >) are not read"},
    {"Folded", "a: >\n  x\n", "f:2:1", "block scalars (| and >) are not read"},
    {"NulEscape", "a: \"\\0\"\n", "f:1:4", "NUL character in a scalar"},
    {"Unclosed", "a: [1, 2\n", "f:2:1", "flow sequence without a closing bracket"},
    {"UnclosedQuote", "a: 'b\n", "f:1:5", "single-quoted scalar without closing quote"},
    {"NestedOnOneLine", "a: b: c\n", "f:1:5", "invalid nested block mapping on the same line"},
    {"UnknownEscape", "a: \"\\q\"\n", "f:1:5", "invalid escape 'q' in double-quoted string"},
    {"SurrogateEscape", "a: \"\\uD800\"\n", "f:1:5", "double-quoted scalar has invalid UTF8 escape"},
};

INSTANTIATE_TEST_SUITE_P(Yaml, RefusesYaml, testing::ValuesIn(kRefused),
                         [](const testing::TestParamInfo<RefusedYaml>& test) { return test.param.name; });

YamlNode parsed(const std::string& text) {
  Result<YamlNode> root = parse_yaml(text, "f");
  EXPECT_TRUE(root) << root.error().message();
  return root ? std::move(*root) : YamlNode{};
}

TEST(Yaml, ReadsBlockAndFlow) {
  YamlNode root = parsed(
      "version: 1\nrules:\n  - id: a\n    match: [\"git push *\", 'x']\n  - id: b\n    reason: \"two\\nlines\"\n");
  EXPECT_EQ(root.find("version")->scalar, "1");
  const YamlNode* rules = root.find("rules");
  ASSERT_NE(rules, nullptr);
  ASSERT_EQ(rules->items.size(), 2U);
  EXPECT_EQ(rules->items[0].find("match")->items[0].scalar, "git push *");
  EXPECT_TRUE(rules->items[0].find("match")->items[1].quoted);
  EXPECT_EQ(rules->items[1].find("reason")->scalar, "two\nlines");
  EXPECT_EQ(root.find("missing"), nullptr);
  EXPECT_EQ(rules->find("id"), nullptr);
}

TEST(Yaml, PlacesAreLinesAndByteColumns) {
  YamlNode root = parsed("a: 1\né: {x: 'y'}\r\nlast:\n");
  EXPECT_EQ(yaml_place("p.yaml", root), "p.yaml:1:1");
  EXPECT_EQ(yaml_place("p.yaml", root.entries[1].first), "p.yaml:2:1");
  EXPECT_EQ(yaml_place("p.yaml", *root.find("é")), "p.yaml:2:5");
  EXPECT_EQ(yaml_place("p.yaml", *root.find("é")->find("x")), "p.yaml:2:9");
  EXPECT_EQ(yaml_place("p.yaml", *root.find("last")), "p.yaml:3:1");
}

TEST(Yaml, NullIsPlainOnly) {
  YamlNode root = parsed("a: ~\nb: null\nc:\nd: ''\ne: \"null\"\nf: x\n");
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(root.find(key)->is_null()) << key;
  for (const char* key : {"d", "e", "f"}) EXPECT_FALSE(root.find(key)->is_null()) << key;
}

TEST(Yaml, ScalarsStayText) {
  YamlNode root = parsed("a: yes\nb: 0x10\nc: 2026-01-01\nd: .inf\n");
  EXPECT_EQ(root.find("a")->scalar, "yes");
  EXPECT_EQ(root.find("b")->scalar, "0x10");
  EXPECT_EQ(root.find("c")->scalar, "2026-01-01");
}

TEST(Yaml, EmptyTextIsNull) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "...\n"})
    EXPECT_TRUE(parsed(text).is_null()) << text;
}

TEST(Yaml, HarmlessFormsAreRead) {
  EXPECT_EQ(parsed("---\na: 1\n...\n").find("a")->scalar, "1");
  EXPECT_EQ(parsed("\xEF\xBB\xBF"
                   "a: 1\n")
                .find("a")
                ->scalar,
            "1");
  EXPECT_EQ(parsed("'<<': 1\n").find("<<")->scalar, "1");
  EXPECT_EQ(parsed("a: \"x\ty\"\n").find("a")->scalar, "x\ty");
  EXPECT_EQ(parsed("? a\n? b\n").entries.size(), 2U);
}

TEST(Yaml, DepthBoundIsExact) {
  auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_yaml(nested(32), "f"));
  EXPECT_FALSE(parse_yaml(nested(33), "f"));
  EXPECT_TRUE(parse_yaml(nested(2), "f", {.depth = 2}));
  EXPECT_FALSE(parse_yaml(nested(3), "f", {.depth = 2}));
}

TEST(Yaml, HostileNestingIsRefusedFast) {
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(parse_yaml(std::string(200'000, '['), "f"));
  EXPECT_FALSE(parse_yaml(std::string(200'000, '{'), "f"));
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  EXPECT_FALSE(parse_yaml(dashes, "f"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Yaml, ByteAndNodeBounds) {
  EXPECT_TRUE(parse_yaml("[a]", "f", {.bytes = 3}));
  EXPECT_FALSE(parse_yaml("[a]", "f", {.bytes = 2}));
  EXPECT_TRUE(parse_yaml("[a, b]", "f", {.nodes = 3}));
  Result<YamlNode> many = parse_yaml("[a, b]", "f", {.nodes = 2});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().object, "f:1:5");
}

TEST(Yaml, ManyKeysAreCheckedInTime) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  EXPECT_TRUE(parse_yaml(text, "f"));
  EXPECT_FALSE(parse_yaml(text + "key777: 2\n", "f"));
}

TEST(NearestWord, WithinTwoEdits) {
  const std::vector<std::string_view> known = {"match", "exclude", "effect", "reason"};
  EXPECT_EQ(nearest_word("mach", known), "match");
  EXPECT_EQ(nearest_word("efect", known), "effect");
  EXPECT_EQ(nearest_word("excldue", known), "exclude");
  EXPECT_EQ(nearest_word("capability", known), "");
  EXPECT_EQ(nearest_word("", known), "");
  EXPECT_EQ(nearest_word("ab", {"cd"}), "");
  EXPECT_EQ(nearest_word(std::string(1'000'000, 'x'), known), "");
}

}  // namespace
}  // namespace oncelatch
