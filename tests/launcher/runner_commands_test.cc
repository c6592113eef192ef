#include "launcher/runner_commands.h"

#include <gtest/gtest.h>

#include <random>

namespace oncelatch::launcher {
namespace {

using namespace std::string_literals;

std::string neutral(const std::string& input) {
  RunnerCommands commands;
  std::string out;
  commands.feed(input, out);
  return out;
}

std::string without_marks(std::string text) {
  for (std::size_t at = text.find(RunnerCommands::kMark); at != std::string::npos;
       at = text.find(RunnerCommands::kMark, at)) {
    text.erase(at, RunnerCommands::kMark.size());
  }
  return text;
}

void expect_marked(const std::string& input) {
  const std::string output = neutral(input);
  EXPECT_NE(output, input) << ::testing::PrintToString(input);
  EXPECT_EQ(without_marks(output), input);
}

void expect_same(const std::string& input) {
  EXPECT_EQ(neutral(input), input);
}

// A runner's own reading, as its sources have it: trim, begin with "::", another "::" later; "##[" anywhere.
bool runner_obeys(const std::string& log) {
  for (const char* word : {"##[", "##vso[", "##teamcity[", "section_start:", "section_end:"}) {
    if (log.find(word) != std::string::npos) return true;
  }
  std::size_t at = 0;
  while (at < log.size()) {
    const std::size_t end = std::min(log.find_first_of("\r\n", at), log.size());
    const std::string line = log.substr(at, end - at);
    const std::size_t start = line.find_first_not_of(" \t\v\f");
    if (start != std::string::npos && line.compare(start, 2, "::") == 0 &&
        line.find("::", start + 2) != std::string::npos)
      return true;
    at = end + 1;
  }
  return false;
}

TEST(RunnerCommands, E135_WorkflowCommandsAreShownNotObeyed) {
  EXPECT_EQ(neutral("::add-mask::secret\n"), "::add-mask:|oncelatch|:secret\n");
  EXPECT_EQ(neutral("::stop-commands::token\n::token::\n"),
            "::stop-commands:|oncelatch|:token\n::token:|oncelatch|:\n");
  for (const char* line : {"::set-env name=PATH::/ws/evil", "::set-output name=x::y", "::add-path::/ws", "::debug::x",
                           "::error file=a.js,line=1::bad", "::add-matcher::m.json", "::endgroup::", "::GROUP::x"}) {
    for (const char* before :
         {"", "text\n", "text\r", "text\r\n", " \t ", "\xef\xbb\xbf", "\x1b[31m", "\x1b[0;1m  \x1b[K", "\x1b]0;t\a",
          "\x1b", "\xc2\xa0", "\xe2\x80\x8b", "\0", "\v", "\f", "\r \x1b[m \r"}) {
      expect_marked(before + ""s + line + "\n");
    }
  }
}

TEST(RunnerCommands, E135_OtherRunnersCommands) {
  EXPECT_EQ(neutral("##[add-path]/ws\n"), "##|oncelatch|[add-path]/ws\n");
  EXPECT_EQ(neutral("##vso[task.setvariable variable=x]y\n"), "##vso|oncelatch|[task.setvariable variable=x]y\n");
  EXPECT_EQ(neutral("##teamcity[setParameter name='x']"), "##teamcity|oncelatch|[setParameter name='x']");
  EXPECT_EQ(neutral("section_start:156:name\r\x1b[0KTitle"), "section_start|oncelatch|:156:name\r\x1b[0KTitle");
  for (const char* command : {"##[set-env]", "##VSO[task.complete]", "##TeamCity[x]", "section_end:1:a\r\x1b[0K",
                              "Section_Start:1:a\r\x1b[0K", "\x1b[8mha:AAAA"}) {
    for (const char* before :
         {"", "text ", "2026-01-01T00:00:00Z ", "\r", "\x1b[1m", "# ", "#", "sect", "::", "[", "##"}) {
      expect_marked(before + ""s + command + "\n");
    }
  }
}

TEST(RunnerCommands, E135_NothingInvisibleHidesACommand) {
  for (const char* between :
       {"\x1b[m", "\x1b[38;5;1m", "\x1b]8;;\x1b\\", "\x1b(B", "\xe2\x80\x8d", "\xc2\xad", "\x01", "\x7f"}) {
    expect_marked("#"s + between + "#vso[x]");
    expect_marked("##"s + between + "[x]");
    expect_marked("##vs"s + between + "o" + between + "[x]");
    expect_marked(":"s + between + ":x::y");
    expect_marked("::x:"s + between + ":y");
    expect_marked("section_"s + between + "start:1:a");
  }
  expect_marked("##\0[x]"s);
  expect_marked("#\r#[x]"s);
  expect_marked("\x1b[##vso[x]");    // a sequence to one reader, text to another
  expect_marked("\x1b]\n::x::y\n");  // a line's end ends it
  expect_marked("::x\r::y\n");       // to one runner two lines, to another one
  expect_marked("::x name=a:::y");
}

TEST(RunnerCommands, MarksDontMakeNewCommands) {
  EXPECT_EQ(neutral("::a:::b"), "::a:|oncelatch|:|oncelatch|:b");
  EXPECT_EQ(neutral("::::b"), ":::|oncelatch|:b");
  EXPECT_EQ(neutral("::a::b\r:::c"), "::a:|oncelatch|:b\r:" + std::string(RunnerCommands::kMark) + ":" +
                                         std::string(RunnerCommands::kMark) + ":c");
  EXPECT_EQ(neutral("##[##["), "##|oncelatch|[##|oncelatch|[");
}

TEST(RunnerCommands, OrdinaryOutputPassesUnchanged) {
  for (const char* text : {"std::vector<int> a; std::map<a, b>::iterator\n", "::1 localhost ip6-localhost\n",
                           "  ::ffff:10.0.0.1\n", "error::kind::x at a::b\n", "## Heading\n", "### [link](x)\n",
                           "# [a]\n", "##\n[x]\n", "section_started 1:2\n", "[8mhat:\n", "12:30:45 a::b::c\n",
                           ": :a::b\n", "\x1b[31mred::a::b\x1b[m\n", "a\tb::c::d\r\n", "::\n::\n::a\n::b\n"}) {
    expect_same(text);
  }
  std::string binary;
  for (int i = 0; i < 256; ++i) binary += static_cast<char>(i);
  expect_same(binary + binary);
}

TEST(RunnerCommands, NothingIsHeldBack) {
  RunnerCommands commands;
  std::string out;
  std::string fed;
  for (char c : "##vso[a]\n::x::y\n"s) {
    fed += c;
    commands.feed(std::string_view(&c, 1), out);
    EXPECT_EQ(without_marks(out), fed);
  }
  EXPECT_EQ(commands.found(), 2U);
  EXPECT_LE(sizeof commands, 128U);
}

std::string noise(std::mt19937& random, std::size_t size) {
  static const std::vector<std::string> pieces = {
      ":",  "::", "#",  "##",   "[",     "vso", "VSO[",           "teamcity",
      "\n", "\r", " ",  "\x1b", "\x1b[", "m",   "section_start",  "a",
      "\t", "]",  "\a", "\\",   "\f",    "]0;", "set-env name=x", "\xef\xbb\xbf"};
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += pieces[random() % pieces.size()];
  return text;
}

TEST(RunnerCommands, AnyCuttingGivesTheSameAndNoRunnerObeys) {
  std::mt19937 random(135);
  int would_have = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string input = noise(random, 24);
    const std::string whole = neutral(input);
    ASSERT_FALSE(runner_obeys(whole)) << ::testing::PrintToString(input);
    ASSERT_EQ(without_marks(whole), input);
    would_have += runner_obeys(input) ? 1 : 0;
    RunnerCommands commands;
    std::string out;
    const std::size_t cut = random() % (input.size() + 1);
    commands.feed(std::string_view(input).substr(0, cut), out);
    commands.feed(std::string_view(input).substr(cut), out);
    ASSERT_EQ(out, whole) << ::testing::PrintToString(input) << ' ' << cut;
  }
  EXPECT_GT(would_have, 1000);
}

}  // namespace
}  // namespace oncelatch::launcher
