// SARIF as its readers take it: structure, places, levels, hostile names, runs that didn't look; and what `exec`
// writes.
#include "launcher/sarif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "tests/launcher/scratch.h"

namespace oncelatch::launcher {
namespace {

using ::testing::HasSubstr;

HostEffect effect(const std::string& path, const std::string& guard, const std::string& kind) {
  return {.path = path, .guard = guard, .kind = kind, .reason = "something runs it", .change = "new", .line = {}};
}

// What SARIF 2.1.0 requires of every log of ours (sections 3.13, 3.14, 3.20, 3.27, 3.28, 3.58).
void expect_valid(const Json& log) {
  EXPECT_EQ(log.at("version"), "2.1.0");
  EXPECT_THAT(log.at("$schema").get<std::string>(), HasSubstr("sarif-2.1.0"));
  ASSERT_EQ(log.at("runs").size(), 1U);
  const Json& run = log.at("runs")[0];
  const Json& driver = run.at("tool").at("driver");
  EXPECT_EQ(driver.at("name"), "oncelatch");
  std::set<std::string> ids;
  for (const Json& rule : driver.at("rules")) {
    EXPECT_TRUE(ids.insert(rule.at("id")).second) << rule;
    EXPECT_FALSE(rule.at("shortDescription").at("text").get<std::string>().empty());
  }
  ASSERT_EQ(run.at("invocations").size(), 1U);
  EXPECT_TRUE(run.at("invocations")[0].at("executionSuccessful").is_boolean());
  for (const Json& one : run.at("invocations")[0].at("toolExecutionNotifications"))
    EXPECT_FALSE(one.at("message").at("text").get<std::string>().empty());
  for (const Json& one : run.at("results")) {
    const auto index = one.at("ruleIndex").get<std::size_t>();
    EXPECT_EQ(driver.at("rules").at(index).at("id"), one.at("ruleId"));
    EXPECT_THAT(one.at("level").get<std::string>(), ::testing::AnyOf("error", "warning", "note"));
    EXPECT_FALSE(one.at("message").at("text").get<std::string>().empty());
    const Json& place = one.at("locations").at(0).at("physicalLocation");
    const Json& artifact = place.at("artifactLocation");
    for (char character : artifact.at("uri").get<std::string>())
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(character)) != 0 ||
                  std::strchr("-._~/%:", character) != nullptr);
    if (artifact.contains("uriBaseId")) {
      const std::string base = run.at("originalUriBaseIds").at(artifact.at("uriBaseId").get<std::string>()).at("uri");
      EXPECT_TRUE(base.starts_with("file:///") && base.ends_with("/")) << base;
    }
    if (place.contains("region")) {
      EXPECT_GE(place.at("region").at("startLine").get<int>(), 1);
    }
    EXPECT_EQ(one.at("partialFingerprints").at("hostEffect/v1").get<std::string>().size(), 64U);
  }
}

Json log_of(const AfterRunReport& seen, const std::string& workspace = "/w") {
  const std::string text = sarif_text({.workspace = workspace, .seen = &seen, .exit_code = 0, .error = {}});
  EXPECT_EQ(text, sarif_text({.workspace = workspace, .seen = &seen, .exit_code = 0, .error = {}}));
  Json log = Json::parse(text);
  expect_valid(log);
  return log;
}

const Json& result(const Json& log, std::size_t index) {
  return log.at("runs")[0].at("results").at(index);
}

TEST(Sarif, LevelsByGuardAndRulesByKind) {
  AfterRunReport seen;
  seen.effects = {effect("/w/.envrc", "refused", "shell"), effect("/w/.travis.yml", "held", "ci"),
                  effect("/w/x/ls", "reported", "program")};
  const Json log = log_of(seen);
  EXPECT_EQ(result(log, 0).at("level"), "error");
  EXPECT_EQ(result(log, 1).at("level"), "warning");
  EXPECT_EQ(result(log, 2).at("level"), "note");
  EXPECT_EQ(result(log, 2).at("ruleId"), "program");
  EXPECT_EQ(log.at("runs")[0].at("tool").at("driver").at("rules").size(), effect_kind_table().size());
  EXPECT_EQ(log.at("runs")[0].at("invocations")[0].at("executionSuccessful"), true);
}

TEST(Sarif, PlacesAreRelativeToTheWorkspaceAndEncoded) {
  AfterRunReport seen;
  seen.effects = {effect("/w s/a b/\xc3\xa9\xff:%/.envrc", "refused", "shell"),
                  effect("/elsewhere/#.envrc", "refused", "shell")};
  const Json log = log_of(seen, "/w s");
  const Json first = result(log, 0).at("locations")[0].at("physicalLocation").at("artifactLocation");
  EXPECT_EQ(first.at("uri"), "a%20b/%C3%A9%FF%3A%25/.envrc");
  EXPECT_EQ(first.at("uriBaseId"), "%SRCROOT%");
  EXPECT_EQ(log.at("runs")[0].at("originalUriBaseIds").at("%SRCROOT%").at("uri"), "file:///w%20s/");
  const Json second = result(log, 1).at("locations")[0].at("physicalLocation").at("artifactLocation");
  EXPECT_EQ(second.at("uri"), "file:///elsewhere/%23.envrc");
  EXPECT_FALSE(second.contains("uriBaseId"));
}

TEST(Sarif, ALineIsARegionAndNoMarkup) {
  AfterRunReport seen;
  seen.effects = {effect("/w/Makefile", "reported", "build")};
  seen.effects[0].line = "[click](http://evil) {0}";
  seen.effects[0].line_number = 7;
  const Json one = result(log_of(seen), 0);
  EXPECT_EQ(one.at("message").at("text"), "new: something runs it: \\[click\\](http://evil) {{0}}");
  const Json region = one.at("locations")[0].at("physicalLocation").at("region");
  EXPECT_EQ(region.at("startLine"), 7);
  EXPECT_EQ(region.at("snippet").at("text"), "[click](http://evil) {0}");
}

// Another line number, another checkout: the same finding. Another line: another one.
TEST(Sarif, FingerprintsAreStable) {
  AfterRunReport seen;
  seen.effects = {effect("/w/Makefile", "reported", "build")};
  auto print = [&](const std::string& workspace) {
    return result(log_of(seen, workspace), 0).at("partialFingerprints").at("hostEffect/v1").get<std::string>();
  };
  seen.effects[0].line = "evil";
  seen.effects[0].line_number = 7;
  const std::string first = print("/w");
  seen.effects[0].line_number = 9;
  EXPECT_EQ(print("/w"), first);
  seen.effects[0].path = "/other/Makefile";
  EXPECT_EQ(print("/other"), first);
  seen.effects[0].line = "worse";
  EXPECT_NE(print("/other"), first);
}

TEST(Sarif, WhatWasNotLookedAtIsNoSuccess) {
  AfterRunReport seen;
  seen.complete = false;
  const Json invocation = log_of(seen).at("runs")[0].at("invocations")[0];
  EXPECT_EQ(invocation.at("executionSuccessful"), false);
  EXPECT_EQ(invocation.at("toolExecutionNotifications").size(), 1U);
  const Json refused = Json::parse(sarif_text({.workspace = {}, .seen = nullptr, .exit_code = 122, .error = "no\x1b"}));
  expect_valid(refused);
  EXPECT_EQ(refused.at("runs")[0].at("invocations")[0].at("executionSuccessful"), false);
  EXPECT_EQ(refused.at("runs")[0].at("invocations")[0].at("toolExecutionNotifications")[0].at("message").at("text"),
            "no\\x1b");
}

class SarifExec : public ::testing::TestWithParam<uid_t> {
 protected:
  [[nodiscard]] Json log() const {
    Json log = Json::parse(scratch.read("log.sarif"));
    expect_valid(log);
    return log;
  }
  test::Scratch scratch{GetParam()};
};

TEST_P(SarifExec, WritesWhatWasFound) {
  Output output = scratch.oncelatch({"exec", "--sarif", scratch.path("log.sarif"), "--fail-on", "build", "--", "sh",
                                     "-c", "printf 'all:\\n\\tevil\\n' > Makefile; echo 'a 1' > .tool-versions"});
  EXPECT_EQ(output.status.shell_code(), 123) << output.err;
  const Json found = log();
  ASSERT_EQ(found.at("runs")[0].at("results").size(), 2U);
  EXPECT_EQ(found.at("runs")[0].at("invocations")[0].at("exitCode"), 123);
  const Json& tools = result(found, 0);
  EXPECT_EQ(tools.at("ruleId"), "shell");
  EXPECT_EQ(tools.at("level"), "warning");
  EXPECT_EQ(tools.at("locations")[0].at("physicalLocation").at("artifactLocation").at("uri"), ".tool-versions");
  EXPECT_EQ(tools.at("locations")[0].at("physicalLocation").at("region").at("startLine"), 1);
}

TEST_P(SarifExec, ARefusalReplacesWhatLiesThere) {
  scratch.write("log.sarif", "of another run", 0644);
  Output output = scratch.oncelatch({"exec", "--sarif", scratch.path("log.sarif"), "--no-such", "--", "true"});
  EXPECT_EQ(output.status.shell_code(), 122);
  EXPECT_EQ(log().at("runs")[0].at("invocations")[0].at("exitCode"), 122);
  scratch.write("log.sarif", "of another run", 0644);
  output = scratch.oncelatch({"exec", "--sarif", scratch.path("log.sarif"), "--", "no-such-program"});
  EXPECT_EQ(output.status.shell_code(), 127);
  EXPECT_EQ(log().at("runs")[0].at("results").size(), 0U);
  EXPECT_EQ(log().at("runs")[0].at("invocations")[0].at("executionSuccessful"), false);
}

// Each would overwrite the other: one file under two spellings is one file.
TEST_P(SarifExec, TwoReportsNeedTwoFiles) {
  scratch.write("old.json", "old", 0644);
  std::filesystem::create_directory(scratch.path("more"));
  std::filesystem::create_directory_symlink(scratch.path(""), scratch.path("more/here"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(scratch.path("more").c_str(), GetParam(), GetParam()), 0);
    ASSERT_EQ(::chown(scratch.path("old.json").c_str(), GetParam(), GetParam()), 0);
  }
  const std::vector<std::pair<std::string, std::string>> same = {{scratch.path("both"), scratch.path("both")},
                                                                 {scratch.path("both"), scratch.path("more/../both")},
                                                                 {scratch.path("both"), scratch.path("more/here/both")},
                                                                 {scratch.path("old.json"), scratch.path("./old.json")},
                                                                 {"/dev/stdout", "/dev/fd/1"}};
  for (const auto& [report, sarif] : same) {
    const Output output = scratch.oncelatch({"exec", "--workspace", scratch.path("repository"), "--report", report,
                                             "--sarif", sarif, "--", "touch", "ran"});
    EXPECT_EQ(output.status.shell_code(), 122) << report << ' ' << sarif;
    EXPECT_THAT(output.err,
                ::testing::AllOf(::testing::HasSubstr("is named twice"), ::testing::HasSubstr("name two files")));
    EXPECT_FALSE(scratch.exists("repository/ran"));
  }
  for (const char* option : {"--report", "--sarif", "--workspace", "--env"}) {
    const Output output = scratch.oncelatch({"exec", option, "--", "true"});
    EXPECT_EQ(output.status.shell_code(), 122) << option;
    EXPECT_THAT(output.err, ::testing::HasSubstr("needs a value")) << option;
  }
}

TEST_P(SarifExec, ALinkIsRefusedByItsOption) {
  ASSERT_EQ(::symlink("elsewhere", scratch.path("link").c_str()), 0);
  Output output = scratch.oncelatch({"exec", "--sarif", scratch.path("link"), "--", "echo", "RAN"});
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr("--sarif FILE"));
}

INSTANTIATE_TEST_SUITE_P(Users, SarifExec, ::testing::ValuesIn(test::users()), [](const auto& one) {
  return one.param == 0 ? std::string("Root") : std::string("OrdinaryUser");
});

}  // namespace
}  // namespace oncelatch::launcher
