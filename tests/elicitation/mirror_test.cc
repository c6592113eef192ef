// The mirror's states: decisions recorded first, the one slot, orders of request and answer, faults.
#include <fstream>

#include "elicitation/open_prompts.h"
#include "tests/elicitation/fixtures.h"
#include "tests/elicitation/session.h"

namespace oncelatch::elicitation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::recording;
using testing::Session;
using testing::v2_prompt;
using namespace testing;

void write_lines(const Session& session, const std::vector<std::string>& lines) {
  std::ofstream file(session.path, std::ios::app);
  for (const std::string& line : lines) file << line << "\n";
}

TEST(Mirror, AllowIsAcceptedWithOneEnter) {
  Session s;
  s.effect = Effect::allow;
  s.start();
  s.kiro->show(v2_prompt("a", "git status"));
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "confirmed");
  EXPECT_THAT(s.kiro->sent, ElementsAre(Key::enter));
  EXPECT_THAT(s.log, ElementsAre("seen p1", "decided p1 policy", "delivering p1 accept policy", "ended p1 confirmed"));
  EXPECT_EQ(s.option_of_end, "allow_once");
  EXPECT_TRUE(s.kiro->person_input);
}

TEST(Mirror, DenyTakesTheRejectRow) {
  Session s;
  s.effect = Effect::deny;
  s.start();
  s.kiro->show(v2_prompt("a", "rm -rf /"));
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "confirmed");
  EXPECT_THAT(s.kiro->sent, ElementsAre(Key::down, Key::down, Key::enter));
  EXPECT_EQ(s.option_of_end, "reject_once");
}

TEST(Mirror, SixteenMillisecondFramesMeetTheBars) {
  for (const bool accept : {true, false}) {
    Session s;
    s.effect = accept ? Effect::allow : Effect::deny;
    s.start();
    s.kiro->show(v2_prompt("a", "ls"));
    const Nanoseconds began = s.clock.monotonic();
    ASSERT_TRUE(s.run_until_end("a"));
    EXPECT_LE(s.clock.monotonic() - began, accept ? milliseconds(80) : milliseconds(160));
  }
}

TEST(Mirror, AskWaitsForAPersonOnceTheScreenShowsIt) {
  Session s;
  s.kiro->times.frame = milliseconds(200);
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  s.run_for(milliseconds(150));
  EXPECT_TRUE(s.told.empty());
  s.run_for(milliseconds(150));
  EXPECT_THAT(s.told, ElementsAre("p1 waits"));
  EXPECT_THAT(s.log, ElementsAre("seen p1", "decided p1 nobody"));
  EXPECT_FALSE(s.mirror->answer("p2", Verdict::accept, Decider::person, "d"));
  EXPECT_TRUE(s.mirror->answer("p1", Verdict::decline, Decider::person, "digest"));
  EXPECT_FALSE(s.mirror->answer("p1", Verdict::accept, Decider::person, "d"));
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "confirmed");
  EXPECT_EQ(s.delivering_sha256, "digest");
  EXPECT_EQ(s.option_of_end, "reject_once");
}

TEST(Mirror, AskIsDeclinedWhenUnattended) {
  Session s;
  s.unattended = true;
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_THAT(
      s.log, ElementsAre("seen p1", "decided p1 unattended", "delivering p1 decline unattended", "ended p1 confirmed"));
  EXPECT_EQ(s.option_of_end, "reject_once");
}

TEST(Mirror, TheTerminalWins) {
  Session s;
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  s.run_for(milliseconds(100));
  ASSERT_EQ(s.waiting, "p1");
  s.kiro->person_types(Key::enter);
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "elsewhere");
  EXPECT_FALSE(s.mirror->answer("p1", Verdict::accept, Decider::person, "d"));
  EXPECT_TRUE(s.kiro->sent.empty());
}

TEST(Mirror, EscapeAndErrorsAreResolutions) {
  Session s;
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  s.run_for(milliseconds(100));
  s.kiro->cancel();
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "cancelled");
}

TEST(Mirror, AnAnswerWithin25MillisecondsIsTheAgentsOwn) {
  Session s;
  s.effect = Effect::allow;
  s.kiro->times.frame = Nanoseconds(0);
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  s.round();
  s.clock.advance(milliseconds(20));
  s.kiro->answer_elsewhere();
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "elsewhere");
  EXPECT_TRUE(s.kiro->sent.empty());
}

TEST(Mirror, K23OneSlot) {
  Session s;
  s.start();
  write_lines(s, recording("K23"));
  s.kiro->show(v2_prompt("c-1", "pwd"), false);
  s.run_for(milliseconds(100));
  EXPECT_THAT(s.told, ElementsAre("p2 terminal: another prompt is being answered",
                                  "p3 terminal: another prompt is being answered", "p1 waits"));
  s.mirror->finish("the agent ended");
  EXPECT_EQ(s.ends.size(), 3U);
  EXPECT_EQ(*s.end_of("c-2"), "superseded: the agent ended");
}

TEST(Mirror, K24SkipsTheAnsweredOneOfABatch) {
  Session s;
  s.start();
  write_lines(s, recording("K24"));
  s.kiro->show(v2_prompt("s-2", "date"), false);
  s.run_for(milliseconds(100));
  EXPECT_EQ(*s.end_of("s-1"), "elsewhere");
  EXPECT_EQ(s.waiting, "p2");
}

TEST(Mirror, K25BothOrders) {
  for (const bool answer_first : {true, false}) {
    Session s;
    s.start();
    s.kiro->show(v2_prompt("A", "pwd"));
    s.run_for(milliseconds(100));
    ASSERT_EQ(s.waiting, "p1");
    std::vector<std::string> lines = recording("K25");
    if (!answer_first) std::swap(lines[0], lines[1]);
    write_lines(s, lines);
    s.kiro->show(v2_prompt("B", "date"), false);
    s.run_for(milliseconds(100));
    EXPECT_EQ(*s.end_of("A"), "elsewhere");
    EXPECT_EQ(s.waiting, answer_first ? "p2" : "");
    if (!answer_first) {
      EXPECT_THAT(s.told, ::testing::Contains("p2 terminal: another prompt is being answered"));
    }
  }
}

TEST(Mirror, OldRequestsAreNotReplayed) {
  Session s;
  s.kiro->show(v2_prompt("old", "ls"));
  s.start();
  s.run_for(milliseconds(300));
  EXPECT_TRUE(s.log.empty());
}

TEST(Mirror, ARepeatedRequestIsOnePrompt) {
  Session s;
  s.start();
  const auto prompt = v2_prompt("a", "ls");
  s.kiro->show(prompt);
  s.kiro->write_record(request_message(prompt), "in");
  s.run_for(milliseconds(100));
  EXPECT_EQ(s.log.size(), 2U);
  EXPECT_EQ(s.waiting, "p1");
}

TEST(Mirror, AnotherRequestUnderTheSameIdEndsBoth) {
  Session s;
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  s.run_for(milliseconds(100));
  s.kiro->write_record(request_message(v2_prompt("a", "rm -rf x")), "in");
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "failed: another request came with the same id");
  EXPECT_FALSE(s.mirror->answer("p1", Verdict::accept, Decider::person, "d"));
}

TEST(Mirror, QuestionsAreForTheTerminal) {
  Session s;
  s.start();
  write_lines(s, recording("K14"));
  s.run_for(milliseconds(100));
  EXPECT_THAT(s.told, ElementsAre("p1 terminal: a question, not an approval"));
  write_lines(s, recording("K15"));
  s.run_for(milliseconds(100));
  EXPECT_THAT(s.told, ElementsAre("p1 terminal: a question, not an approval", "p1 cancelled"));
}

TEST(Mirror, NoKeyWithoutARecord) {
  for (const char* stage : {"seen", "decided", "delivering"}) {
    Session s;
    s.effect = Effect::allow;
    s.audit_fails = stage;
    s.start();
    s.kiro->show(v2_prompt("a", "ls"));
    s.run_for(std::chrono::seconds(1));
    EXPECT_TRUE(s.kiro->sent.empty()) << stage;
    const bool ended = std::string(stage) == "delivering";
    EXPECT_THAT(s.told.back(), HasSubstr(ended ? "failed" : "could not be recorded")) << stage;
    EXPECT_TRUE(s.kiro->person_input);
  }
}

TEST(Mirror, AFaultOfTheRecordStopsMirroringOnly) {
  Session s;
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  s.run_for(milliseconds(100));
  ASSERT_EQ(::truncate(s.path.c_str(), 0), 0);
  s.round();
  EXPECT_THAT(s.stop_reason, HasSubstr("shorter"));
  EXPECT_EQ(*s.end_of("a"), "superseded: mirroring stopped");
  EXPECT_TRUE(s.mirror->poll_fds().empty());
  EXPECT_FALSE(s.mirror->next_deadline());
  EXPECT_FALSE(s.mirror->answer("p1", Verdict::accept, Decider::person, "d"));
}

TEST(Mirror, AFailedDeliveryFreesTheSlot) {
  Session s;
  s.effect = Effect::allow;
  s.start();
  s.kiro->ignore_keys = 1;  // Enter is lost
  s.kiro->show(v2_prompt("a", "ls"));
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "failed: no matching answer in the agent's record within 10 s");
  s.kiro->cancel();
  s.kiro->show(v2_prompt("b", "date"));
  ASSERT_TRUE(s.run_until_end("b"));
  EXPECT_EQ(*s.end_of("b"), "confirmed");
  EXPECT_EQ(s.log.back(), "ended p2 confirmed");  // the late answer of p1 was ignored
}

TEST(Mirror, AnOpenTwinIsRefused) {
  Session s;
  s.effect = Effect::allow;
  s.start();
  s.kiro->ignore_keys = 1;
  s.kiro->show(v2_prompt("a", "ls"));
  ASSERT_TRUE(s.run_until_end("a"));
  s.kiro->show(v2_prompt("b", "ls"));
  ASSERT_TRUE(s.run_until_end("b"));
  EXPECT_EQ(*s.end_of("b"), "failed: another open prompt asks the same");
  EXPECT_THAT(s.kiro->sent, ElementsAre(Key::enter));
}

TEST(Mirror, AnIdenticalPromptWaitsUntilTheOldPictureIsGone) {
  Session s;
  s.effect = Effect::deny;
  s.kiro->times.frame = milliseconds(400);
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  ASSERT_TRUE(s.run_until_end("a"));
  // The screen still shows "No" focused; the program is at "Yes" of the next prompt.
  s.kiro->show(v2_prompt("b", "ls"));
  bool wrong = false;
  s.kiro->before_key = [&](Key key) { wrong = wrong || (key == Key::enter && s.kiro->focus != 2); };
  ASSERT_TRUE(s.run_until_end("b"));
  EXPECT_EQ(*s.end_of("b"), "confirmed");
  EXPECT_FALSE(wrong);
}

TEST(Mirror, ATextThatCouldLookTheSameIsRefused) {
  Session s;
  s.effect = Effect::allow;
  s.start();
  s.kiro->write_record(request_message(v2_prompt("x", "ls\n  \u2570 x; rm -rf y")), "in");
  s.run_for(milliseconds(50));
  s.kiro->show(v2_prompt("a", "ls"));
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_THAT(*s.end_of("a"), HasSubstr("could look the same"));
  EXPECT_TRUE(s.kiro->sent.empty());
}

// What an unread request asks may stand on several rows that look like one wrapped command.
TEST(Mirror, AnUnreadableLineBarsCallsOnSeveralRows) {
  const std::string wrapped = "ls " + std::string(70, 'a') + " " + std::string(70, 'b') + " " + std::string(70, 'c');
  for (const bool doubt : {false, true}) {
    Session s;
    s.effect = Effect::allow;
    s.start();
    if (doubt) write_lines(s, {"x" + recording("K03")[0]});
    s.run_for(milliseconds(50));
    s.kiro->show(v2_prompt("a", wrapped));
    ASSERT_TRUE(s.run_until_end("a"));
    if (!doubt) {
      EXPECT_EQ(*s.end_of("a"), "confirmed");
      continue;
    }
    EXPECT_THAT(*s.end_of("a"), HasSubstr("part of the agent's record is unknown"));
    EXPECT_TRUE(s.kiro->sent.empty());
  }
}

TEST(Mirror, AnUnreadableLineLeavesCallsOnOneRowAlone) {
  Session s;
  s.effect = Effect::allow;
  s.start();
  write_lines(s, {"x" + recording("K03")[0]});
  s.run_for(milliseconds(50));
  s.kiro->show(v2_prompt("a", "ls"));
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "confirmed");
}

TEST(OpenPromptsTest, SaysWhenARequestIsNoLongerRemembered) {
  OpenPrompts prompts;
  for (std::size_t i = 0; i < OpenPrompts::most_remembered; ++i) {
    OpenPrompt prompt;
    prompt.wire.call = call_text_of_resource("shell", "ls " + std::to_string(i));
    prompts.remove(&prompts.add(std::move(prompt)), Nanoseconds(0));
  }
  EXPECT_FALSE(prompts.forgot());
  prompts.add(OpenPrompt{});
  EXPECT_TRUE(prompts.forgot());
}

TEST(Mirror, APersonWhoTypesIsNotDisturbed) {
  Session s;
  s.effect = Effect::allow;
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  for (int i = 0; i < 100 && s.end_of("a") == nullptr; ++i) {
    s.kiro->person_types(i % 2 == 0 ? Key::down : Key::up);
    EXPECT_TRUE(s.kiro->person_input);
    s.run_for(milliseconds(400));
  }
  EXPECT_EQ(*s.end_of("a"), "failed: a person is typing");
  EXPECT_TRUE(s.kiro->sent.empty());
}

TEST(Mirror, BytesTheProgramHasNotReadAreWaitedFor) {
  Session s;
  s.effect = Effect::allow;
  s.kiro->times.read_delay = std::chrono::seconds(3);
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  s.kiro->person_types(Key::down);  // will move the focus to Trust, but only in three seconds
  s.run_for(std::chrono::milliseconds(2900));
  EXPECT_TRUE(s.kiro->sent.empty());
  s.kiro->times.frame = std::chrono::milliseconds(400);  // and its picture comes later still
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_THAT(s.kiro->sent, ElementsAre(Key::up, Key::enter));
  EXPECT_EQ(*s.end_of("a"), "confirmed");
}

// The upper part of the picture is of the next prompt, the lower part with the focus still of the last one.
TEST(Mirror, ATornPictureIsNotActedOn) {
  for (int milli = 1; milli <= 12; ++milli) {
    Session s(80, 12);
    s.effect = Effect::deny;
    s.start();
    s.kiro->show(v2_prompt("a", "git status"));
    ASSERT_TRUE(s.run_until_end("a"));  // its last picture has "No" focused
    s.kiro->times.torn = milliseconds(milli);
    s.kiro->torn_at = 0.2;  // between the call and the header
    bool wrong = false;
    s.kiro->before_key = [&](Key key) { wrong = wrong || (key == Key::enter && s.kiro->focus != 2); };
    s.kiro->show(v2_prompt("b", "date"));
    ASSERT_TRUE(s.run_until_end("b"));
    EXPECT_FALSE(wrong) << milli;
    EXPECT_EQ(*s.end_of("b"), "confirmed");
  }
}

TEST(Mirror, AContradictingAnswerIsAnIncident) {
  Session s;
  s.effect = Effect::allow;
  s.kiro->ignore_keys = 1;
  s.start();
  s.kiro->show(v2_prompt("a", "ls"));
  while (s.kiro->sent.empty()) s.step();
  s.kiro->write_record(R"({"id":"a","result":{"outcome":{"outcome":"selected","optionId":"allow_always"}}})", "out");
  ASSERT_TRUE(s.run_until_end("a"));
  EXPECT_EQ(*s.end_of("a"), "contradicted");
}

TEST(Mirror, AFloodOfRequestsIsBounded) {
  Session s;
  s.start();
  for (int i = 0; i < 300; ++i)
    s.kiro->write_record(request_message(v2_prompt("r" + std::to_string(i), "ls " + std::to_string(i))), "in");
  s.run_for(milliseconds(200));
  s.mirror->finish("end");
  EXPECT_EQ(s.ends.size(), 300U);
}

TEST(Mirror, AFloodOfLongRequestsIsBounded) {
  Session s;
  s.start();
  for (int i = 0; i < 20; ++i) {
    s.kiro->write_record(
        request_message(v2_prompt("r" + std::to_string(i), std::string(900'000, 'x') + std::to_string(i))), "in");
  }
  s.run_for(std::chrono::seconds(5));
  EXPECT_THAT(s.told, ::testing::Contains(HasSubstr("too long to be compared")));
  EXPECT_THAT(s.told, ::testing::Contains(HasSubstr("superseded")));
}

TEST(Mirror, B087SplitAtEveryByte) {
  Session s;
  s.effect = Effect::allow;
  s.start();
  s.kiro->times.frame = Nanoseconds(0);
  s.kiro->show(v2_prompt("one", "ls 1"), false);
  s.kiro->copy_mode = true;  // the delivery of the first fails
  std::string text;
  for (const auto& message : {request_message(v2_prompt("one", "ls 1")), request_message(v2_prompt("two", "ls 2")),
                              request_message(v2_prompt("three", "ls 3"))}) {
    text += R"({"ts":1,"dir":"in","msg":)" + message + "}\n";
  }
  for (const char c : text) {
    std::ofstream(s.path, std::ios::app) << c;
    s.round();
  }
  EXPECT_THAT(s.told, ::testing::IsSupersetOf({"p2 terminal: another prompt is being answered",
                                               "p3 terminal: another prompt is being answered"}));
  ASSERT_TRUE(s.run_until_end("one"));
  EXPECT_EQ(*s.end_of("one"), "failed: the terminal is in copy mode");
  s.kiro->copy_mode = false;
  s.kiro->show(v2_prompt("four", "ls 4"));
  ASSERT_TRUE(s.run_until_end("four"));
  EXPECT_EQ(*s.end_of("four"), "confirmed");
}

}  // namespace
}  // namespace oncelatch::elicitation
