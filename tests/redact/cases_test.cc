// Every case of tests/cases/redaction-cases.json, each a test of its own name.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "base/beneath.h"
#include "redact/redactor.h"

namespace oncelatch::redact {
namespace {

struct NotDone {
  std::string_view name;
  std::string_view reason;
};

// Cases of basis "proposed" that the redactor does not reach. A case that is listed here and passes is an error too.
constexpr std::array<NotDone, 0> kNotDone = {};

const Json& cases() {
  static const Json value = [] {
    Result<Fd> directory = open_directory(ONCELATCH_CASES_DIR);
    if (!directory) return Json::array();
    Result<std::string> text = read_file(directory->get(), "redaction-cases.json", std::size_t{1} << 20);
    Result<Json> parsed = parse_json(text ? *text : "", {}, "redaction-cases.json");
    return parsed ? *parsed : Json::array();
  }();
  return value;
}

std::string test_name(const Json& entry) {
  std::string name = entry.at("name");
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

Redactor from_secrets(const Json& entry) {
  std::vector<Secret> secrets;
  for (const Json& secret : entry.at("secrets"))
    secrets.push_back(Secret::copy_of(secret.get_ref<const std::string&>()));
  return Redactor(std::move(secrets));
}

Redactor from_environment(const Json& entry) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : entry.at("env").items())
    environment.push_back(name + "=" + value.get<std::string>());
  return Redactor::from_environment(environment);
}

struct Case {
  Json entry;
};

void PrintTo(const Case& value, std::ostream* out) {
  *out << value.entry.at("name").get<std::string>();
}

std::vector<Case> all_cases() {
  std::vector<Case> result;
  for (const Json& entry : cases()) result.push_back(Case{entry});
  return result;
}

class RedactionCase : public testing::TestWithParam<Case> {};

TEST_P(RedactionCase, GivesTheExpectedValue) {
  const Json& entry = GetParam().entry;
  const Json before = entry.at("input");
  Redactor redactor = from_secrets(entry);
  Json scrubbed = redactor.value(entry.at("input"));
  auto listed = std::find_if(kNotDone.begin(), kNotDone.end(),
                             [&](const NotDone& each) { return entry.at("name") == each.name; });
  if (listed != kNotDone.end()) {
    EXPECT_EQ(entry.at("basis"), "proposed") << "only extensions may be left out";
    EXPECT_NE(scrubbed, entry.at("expected")) << "works: take it off the list";
    return;
  }
  EXPECT_EQ(scrubbed, entry.at("expected")) << dump_json(entry);
  EXPECT_EQ(redactor.value(scrubbed), scrubbed) << "a second pass changed something";
  EXPECT_EQ(entry.at("input"), before) << "the input was changed";
  EXPECT_FALSE(redactor.contains_secret(dump_json(scrubbed)));
  if (!entry.contains("env")) return;
  EXPECT_EQ(from_environment(entry).value(entry.at("input")), entry.at("expected"));
}

INSTANTIATE_TEST_SUITE_P(Redaction, RedactionCase, testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<Case>& test) { return test_name(test.param.entry); });

TEST(RedactionCases, AreThere) {
  EXPECT_GE(cases().size(), 78U);
}

}  // namespace
}  // namespace oncelatch::redact
