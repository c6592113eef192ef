#include "audit/print.h"

#include <sstream>

#include "audit/decision_log.h"
#include "base/untrusted.h"
#include "tests/audit/support.h"

namespace oncelatch::audit::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// No control, format or bidi character but the newlines of the layout.
void expect_harmless(const std::string& text) {
  EXPECT_TRUE(valid_utf8(text));
  for (const char letter : text) {
    const auto octet = static_cast<unsigned char>(letter);
    ASSERT_TRUE(letter == '\n' || (octet >= 0x20 && octet != 0x7f)) << static_cast<int>(octet);
  }
  for (const char* hidden : {"\u202e", "\u2066", "\u200b", "\u2028", "\u0085", "\u009b", "\ufeff"})
    EXPECT_THAT(text, Not(HasSubstr(hidden)));
}

const std::string hostile =
    "\x1b[2J\x1b]0;t\x07\u202egnp\u2066\u200b\u2028\u0085\u009b\ufeff\r\nfake  k3f9  p9  \x7f\xff";

Json prompt_of(const std::string& local) {
  return Json{{"request_id", "7"}, {"line_sha256", "aa"}, {"local_id", local}};
}

TEST(Print, OneBlockAPrompt) {
  const std::string time = "2026-11-30T15:30:00.000000001Z";
  const std::vector<Row> rows{
      {session_one, 1, time, "session_start", Json{{"agent", "kiro"}, {"workspace", "/w"}}},
      {session_one, 2, time, "request",
       Json{{"prompt", prompt_of("p1")},
            {"capability", "shell"},
            {"title", "Run git push"},
            {"subject", "git push"},
            {"subject_is_whole", true}}},
      {session_one, 3, time, "request",
       Json{{"prompt", prompt_of("p2")},
            {"capability", "fs_write"},
            {"title", "Write a"},
            {"subject", "/a"},
            {"subject_is_whole", false}}},
      {session_one, 4, time, "decision",
       Json{{"prompt", prompt_of("p1")},
            {"effect", "deny"},
            {"decider", "policy"},
            {"floor", Json::array()},
            {"reasons", Json::array({Json{
                            {"rule", "no-push"}, {"effect", "deny"}, {"member", "git push"}, {"text", "Review."}}})}}},
      {session_one, 5, time, "delivering",
       Json{{"prompt", prompt_of("p1")}, {"verdict", "decline"}, {"decider", "policy"}, {"shown_sha256", ""}}},
      {session_one, 6, time, "outcome",
       Json{{"prompt", prompt_of("p1")}, {"outcome", "confirmed"}, {"option_id", "reject"}, {"detail", ""}}},
  };
  EXPECT_EQ(format_rows(rows),
            "2026-11-30T15:30:00Z  k3f9  session_start  kiro in /w\n"
            "2026-11-30T15:30:00Z  k3f9  p1  shell  Run git push\n"
            "    subject     git push\n"
            "    decision    deny by policy\n"
            "                rule no-push (deny): Review. [git push]\n"
            "    delivering  decline by policy\n"
            "    outcome     confirmed, option reject\n"
            "2026-11-30T15:30:00Z  k3f9  p2  fs_write  Write a\n"
            "    subject     /a\n"
            "    note        the subject isn't known whole\n");
}

TEST(Print, RowsOfTheSession) {
  const Json start{{"agent", "kiro"},
                   {"workspace", "/w"},
                   {"artifact", Json{{"path", "/bin/kiro"}, {"sha256", std::string(64, 'a')}}},
                   {"policy", Json{{"path", ""}, {"sha256", std::string(64, 'b')}}},
                   {"sandbox", Json{{"tier", "full"}, {"kernel", "6.1"}}}};
  const Json probes{{"probes", Json::array({Json{{"refused", true}}, Json{{"refused", false}}, 7})}};
  const Json end{{"exit", 122}, {"reason", "policy refused"}, {"error", "policy: x"}};
  EXPECT_EQ(format_rows({{session_one, 1, "", "session_start", start},
                         {session_one, 2, "", "self_test", probes},
                         {session_one, 3, "", "session_end", end},
                         {session_one, 4, "", "other", Json{{"a", 1}}}}),
            "  k3f9  session_start  kiro in /w\n"
            "    program     /bin/kiro, sha256 aaaaaaaaaaaa…\n"
            "    policy      none: everything is asked, sha256 bbbbbbbbbbbb…\n"
            "    sandbox     tier full, kernel 6.1\n"
            "  k3f9  self_test  1 of 3 attempts from inside were refused\n"
            "  k3f9  session_end  exit 122: policy refused\n"
            "    error       policy: x\n"
            "  k3f9  other  {\"a\":1}\n");
}

TEST(Print, SameLocalIdOfTwoSessionsIsTwoBlocks) {
  const std::vector<Row> rows{{session_one, 2, "", "request", Json{{"prompt", prompt_of("p1")}, {"title", "one"}}},
                              {session_two, 2, "", "request", Json{{"prompt", prompt_of("p1")}, {"title", "two"}}}};
  EXPECT_THAT(format_rows(rows), HasSubstr("a1b2  p1  -  two"));
}

TEST(Print, EveryFieldOfATamperedDatabaseIsHarmless) {
  const Json body{
      {"prompt", prompt_of(hostile)},
      {"capability", hostile},
      {"title", hostile},
      {"subject", hostile},
      {"effect", hostile},
      {"decider", hostile},
      {"floor", Json::array({hostile, 1})},
      {"verdict", hostile},
      {"shown_sha256", hostile},
      {"outcome", hostile},
      {"option_id", hostile},
      {"detail", hostile},
      {"subject_cut", Json{{"bytes", 1}, {"sha256", hostile}}},
      {"reasons",
       Json::array({hostile, Json{{"rule", hostile}, {"effect", hostile}, {"member", hostile}, {"text", hostile}}})}};
  std::vector<Row> rows;
  for (const std::string& kind :
       {std::string("request"), std::string("decision"), std::string("delivering"), std::string("outcome"), hostile})
    rows.push_back({hostile, 1, hostile, kind, body});
  rows.push_back({hostile, 2, hostile, hostile, Json(hostile)});
  const Json nested{{"path", hostile}, {"sha256", hostile}, {"tier", hostile}, {"kernel", hostile}};
  const Json plain{
      {"agent", hostile},  {"workspace", hostile}, {"artifact", nested}, {"policy", nested},
      {"sandbox", nested}, {"reason", hostile},    {"error", hostile},   {"probes", Json::array({hostile})}};
  for (const char* kind : {"session_start", "self_test", "session_end", "error"}) {
    rows.push_back({hostile, 3, hostile, kind, plain});
    rows.push_back({hostile, 4, hostile, kind, Json{{"probes", hostile}, {"artifact", hostile}, {"exit", hostile}}});
  }
  rows.push_back({hostile, 3, std::string(30, '\x1b'), "unreadable", Json{{hostile, hostile}}});
  const std::string text = format_rows(rows);
  expect_harmless(text);
  EXPECT_THAT(text, HasSubstr("\\x1b[2J"));
  EXPECT_THAT(text, Not(HasSubstr("\nfake")));
  expect_harmless(rows_as_json_lines(rows));
}

TEST(Print, LongTextIsClippedForPeopleAndWholeForPrograms) {
  const std::vector<Row> rows{
      {session_one, 2, "", "request",
       Json{{"prompt", prompt_of("p1")}, {"title", std::string(1 << 20, 'x')}, {"subject", hostile}}}};
  EXPECT_LT(format_rows(rows).size(), 2000U);
  EXPECT_THAT(format_rows(rows), HasSubstr("…(+"));
  EXPECT_GT(rows_as_json_lines(rows).size(), std::size_t{1} << 20);
}

TEST(Print, JsonLinesAreAsciiAndParse) {
  const std::vector<Row> rows{{session_one, 1, "t", "error", Json{{"a", "\u20ac\u202e"}}},
                              {session_one, 2, "t", "error", Json{{"a", 1}}}};
  std::istringstream lines(rows_as_json_lines(rows));
  std::string line;
  std::size_t count = 0;
  while (std::getline(lines, line)) {
    for (const char letter : line) EXPECT_TRUE(letter >= 0x20 && letter < 0x7f);
    EXPECT_EQ(Json::parse(line)["body"], rows.at(count).body);
    EXPECT_EQ(Json::parse(line)["sequence"], static_cast<int>(++count));
  }
  EXPECT_EQ(count, 2U);
}

class PrintTest : public AuditTest {};

TEST_F(PrintTest, HostilePromptThroughTheWholeLog) {
  Log log = open_log();
  ASSERT_TRUE(log.begin(session_one, Json::object()));
  DecisionLog recorder(log, redactor_);
  policy::PermissionRequest request;
  request.title = request.subject = Untrusted(hostile.substr(0, hostile.size() - 1) + std::string(1 << 20, '\x1b'));
  const policy::PromptId prompt{"7", std::string(64, 'a'), "p1"};
  ASSERT_TRUE(recorder.request_seen(prompt, request));
  const std::string text = format_rows(rows());
  expect_harmless(text);
  EXPECT_LT(text.size(), 10'000U);
  EXPECT_THAT(text, HasSubstr("recorded up to 64 KiB"));
  expect_harmless(rows_as_json_lines(rows()));
}

}  // namespace
}  // namespace oncelatch::audit::test
