#include "approvals/message.h"

#include "tests/approvals/support.h"

namespace oncelatch::approvals::test {
namespace {

using testing::HasSubstr;

const std::string digest(64, 'a');

std::string reply_with(const Json& cards) {
  return dump_json(Json{{"ok", true}, {"session", session_one}, {"waiting", cards}});
}

TEST(LineReader, CutsLinesWhateverThePieces) {
  LineReader lines(10);
  lines.add("ab");
  EXPECT_FALSE(lines.next());
  lines.add("c\nde\n\nf");
  EXPECT_EQ(lines.next(), "abc");
  EXPECT_EQ(lines.next(), "de");
  EXPECT_EQ(lines.next(), "");
  EXPECT_FALSE(lines.next());
  EXPECT_FALSE(lines.empty());
  EXPECT_FALSE(lines.overflowed());
}

TEST(LineReader, BoundIsExact) {
  LineReader fits(3);
  fits.add("abc\n");
  EXPECT_EQ(fits.next(), "abc");
  for (const char* bytes : {"abcd", "abcd\n"}) {
    LineReader lines(3);
    lines.add(bytes);
    EXPECT_FALSE(lines.next());
    EXPECT_TRUE(lines.overflowed());
    lines.add("x\n");
    EXPECT_FALSE(lines.next());
    EXPECT_TRUE(lines.empty()) << "nothing is kept";
  }
}

TEST(ParseRequest, TakesTheTwoRequests) {
  EXPECT_EQ(parse_request(R"({"op":"list"})")->op, Request::Op::list);
  for (const policy::Verdict verdict : {policy::Verdict::accept, policy::Verdict::decline}) {
    const std::string line = answer_line(Request{Request::Op::answer, "p3", verdict, digest});
    const Result<Request> request = parse_request(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(request);
    EXPECT_EQ(request->op, Request::Op::answer);
    EXPECT_EQ(request->local_id, "p3");
    EXPECT_EQ(request->verdict, verdict);
    EXPECT_EQ(request->shown_sha256, digest);
  }
}

TEST(ParseRequest, RefusesEverythingElse) {
  const auto answer = [](const std::string& id, const std::string& verdict, const std::string& sha) {
    return R"({"op":"answer","id":)" + id + R"(,"verdict":)" + verdict + R"(,"shown_sha256":)" + sha + "}";
  };
  const std::string sha = "\"" + digest + "\"";
  const std::string good = answer("\"p3\"", "\"accept\"", sha);
  ASSERT_TRUE(parse_request(good));
  const std::vector<std::string> bad{"",
                                     "null",
                                     "[]",
                                     "{}",
                                     "\"list\"",
                                     R"({"op":1})",
                                     R"({"op":"List"})",
                                     R"({"op":"list","x":1})",
                                     answer("3", "\"accept\"", sha),
                                     answer("\"\"", "\"accept\"", sha),
                                     answer("\"../p3\"", "\"accept\"", sha),
                                     answer("\"p-3\"", "\"accept\"", sha),
                                     answer("\"" + std::string(33, 'p') + "\"", "\"accept\"", sha),
                                     answer("\"p3\"", "true", sha),
                                     answer("\"p3\"", "\"accept_always\"", sha),
                                     answer("\"p3\"", "\"ACCEPT\"", sha),
                                     answer("\"p3\"", "\"cancel\"", sha),
                                     answer("\"p3\"", "\"accept\"", "\"\""),
                                     answer("\"p3\"", "\"accept\"", "null"),
                                     answer("\"p3\"", "\"accept\"", "\"" + std::string(64, 'A') + "\""),
                                     good.substr(0, good.size() - 1) + R"(,"x":1})",
                                     good + good,
                                     good.substr(0, good.size() - 1) + R"(,"verdict":"decline"})"};
  for (const std::string& line : bad) EXPECT_FALSE(parse_request(line)) << line;
}

TEST(ParseReply, TakesAListAndChecksEachCard) {
  const Json card = make_test_card("p3").json();
  const Result<ListReply> list = parse_list_reply(reply_with(Json::array({card})));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->session, session_one);
  EXPECT_EQ(list->cards, std::vector<Json>{card});
  Json bad = card;
  bad["subject"] = "other";
  EXPECT_FALSE(parse_list_reply(reply_with(Json::array({bad})))) << "digest";
  for (const auto& item : card.items()) {
    Json without = card;
    without.erase(item.key());
    EXPECT_FALSE(check_card(without)) << item.key();
    Json typed = card;
    typed[item.key()] = 7;
    EXPECT_FALSE(check_card(typed)) << item.key();
  }
  Json more = card;
  more["extra"] = "hidden text under the digest";
  more["digest"] = card_digest(more);
  EXPECT_FALSE(check_card(more));
  EXPECT_FALSE(check_card(Json::array()));
}

TEST(ParseReply, RefusalsAreErrorsWithEscapedText) {
  const Status status = parse_answer_reply("{\"ok\":false,\"error\":\"changed \\u001b[2J\",\"try\":\"again\"}");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("changed \\x1b[2J"));
  EXPECT_EQ(status.error().try_next, "again");
  for (const char* line : {"", "[]", "{}", R"({"ok":1,"state":"queued"})", R"({"ok":true})",
                           R"({"ok":true,"state":"x"})", R"({"ok":false})"})
    EXPECT_FALSE(parse_answer_reply(line)) << line;
  EXPECT_TRUE(parse_answer_reply(R"({"ok":true,"state":"queued"})"));
}

TEST(ParseReply, RefusesBadLists) {
  for (const char* line : {"", "[]", R"({"ok":true})", R"({"ok":true,"session":"a/b","waiting":[]})",
                           R"({"ok":true,"session":"a","waiting":{}})", R"({"ok":true,"session":"a","waiting":[1]})"})
    EXPECT_FALSE(parse_list_reply(line)) << line;
}

TEST(EscapeAgain, LeavesEscapedTextAlone) {
  EXPECT_EQ(escape_again("a\\x1b\\\\ \\u{202e}"), "a\\x1b\\\\ \\u{202e}");
  EXPECT_EQ(escape_again("\x1b\\\x1b"), "\\x1b\\\\x1b");
  EXPECT_EQ(escape_again("\u202e"), "\\u{202e}");
  EXPECT_EQ(escape_again(""), "");
  EXPECT_EQ(escape_again("\\"), "\\");
}

TEST(ShortSession, IsTheLastFour) {
  EXPECT_EQ(short_session(session_one), "k3f9");
  EXPECT_EQ(short_session("ab"), "ab");
}

}  // namespace
}  // namespace oncelatch::approvals::test
