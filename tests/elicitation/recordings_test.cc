// Every recorder fixture K01 to K26, by id, and attempts to pass for a request or an answer.
#include "elicitation/recorder_line.h"
#include "tests/elicitation/fixtures.h"

namespace oncelatch::elicitation {
namespace {

using policy::OptionKind;
using testing::case_ids;
using testing::load_cases;
using testing::recording;

std::string option_of(const PromptRequest& prompt, OptionKind kind) {
  for (const policy::PermissionOption& option : prompt.request.options) {
    if (option.kind == kind) return std::string(option.id.bytes());
  }
  return {};
}

void expect_request(const PromptRequest& prompt, const Json& wanted) {
  EXPECT_EQ(wanted.at("event"), prompt.only_terminal.empty() ? "request" : "terminal_only");
  if (wanted.contains("why")) {
    EXPECT_EQ(prompt.only_terminal, wanted.at("why").get<std::string>());
  }
  if (wanted.contains("id")) {
    EXPECT_EQ(prompt.id, wanted.at("id").get<std::string>());
  }
  if (wanted.contains("capability")) {
    EXPECT_EQ(policy::capability_name(prompt.request.capability), wanted.at("capability").get<std::string>());
    EXPECT_EQ(prompt.request.subject_is_whole, wanted.at("whole").get<bool>());
  }
  if (wanted.contains("subject")) {
    EXPECT_EQ(prompt.request.subject.bytes(), wanted.at("subject").get<std::string>());
  }
  if (wanted.contains("accept")) {
    EXPECT_EQ(option_of(prompt, OptionKind::allow_once), wanted.at("accept").get<std::string>());
  }
  if (wanted.contains("decline")) {
    EXPECT_EQ(option_of(prompt, OptionKind::reject_once), wanted.at("decline").get<std::string>());
  }
  EXPECT_EQ(prompt.line_sha256.size(), 64U);
}

void expect_answer(const PromptAnswer& answer, const Json& wanted) {
  EXPECT_EQ(wanted.at("event"), "answer");
  EXPECT_EQ(answer.id, wanted.at("id").get<std::string>());
  const std::string kind = wanted.value("kind", "selected");
  EXPECT_EQ(answer.kind, kind == "selected"    ? AnswerKind::selected
                         : kind == "cancelled" ? AnswerKind::cancelled
                                               : AnswerKind::error);
  if (wanted.contains("option")) {
    EXPECT_EQ(answer.option_id.bytes(), wanted.at("option").get<std::string>());
  }
}

class Recordings : public ::testing::TestWithParam<std::string> {};

TEST_P(Recordings, HasTheWantedOutcome) {
  const Json entry = load_cases("kiro-recordings.json").at(GetParam());
  const auto lines = entry.at("lines").get<std::vector<std::string>>();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    SCOPED_TRACE("line " + std::to_string(i + 1));
    const Json& wanted = entry.at("wanted").at(i);
    const RecorderEvent event = read_recorder_line(lines[i]);
    if (const auto* prompt = std::get_if<PromptRequest>(&event)) {
      expect_request(*prompt, wanted);
    } else if (const auto* answer = std::get_if<PromptAnswer>(&event)) {
      expect_answer(*answer, wanted);
    } else {
      EXPECT_EQ(wanted.at("event"), "nothing");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kiro, Recordings, ::testing::ValuesIn(case_ids("kiro-recordings.json")),
                         [](const auto& id) { return id.param; });

PromptRequest request_of(const std::string& line) {
  return std::get<PromptRequest>(read_recorder_line(line));
}
PromptAnswer answer_of(const std::string& line) {
  return std::get<PromptAnswer>(read_recorder_line(line));
}

TEST(RecorderLine, AnAnswerGoesTheOtherWay) {
  EXPECT_TRUE(answers(answer_of(recording("K02")[0]), request_of(recording("K01")[0])));
  EXPECT_TRUE(answers(answer_of(recording("K04")[0]), request_of(recording("K03")[0])));
  std::string same_way = recording("K04")[0];
  same_way.replace(same_way.find("\"out\""), 5, "\"in\"");
  EXPECT_FALSE(answers(answer_of(same_way), request_of(recording("K03")[0])));
}

TEST(RecorderLine, AStringIdIsNotTheNumber) {
  std::string text = recording("K10")[0];
  text.replace(text.find("\"id\":6"), 6, "\"id\":\"6\"");
  EXPECT_EQ(request_of(text).id, "\"6\"");
  EXPECT_FALSE(answers(answer_of(recording("K11")[0]), request_of(text)));
  EXPECT_TRUE(answers(answer_of(recording("K11")[0]), request_of(recording("K10")[0])));
}

TEST(RecorderLine, CarriageReturnAndAddedFieldsAreAccepted) {
  EXPECT_EQ(request_of(recording("K03")[0] + "\r").request.subject.bytes(), "pwd");
  std::string added = recording("K03")[0];
  added.insert(1, "\"v\":2,");
  EXPECT_EQ(request_of(added).request.subject.bytes(), "pwd");
}

TEST(RecorderLine, DuplicateKeysRefuseTheLine) {
  std::string twice = recording("K03")[0];
  twice.insert(twice.find("\"title\""), "\"title\":\"Running: ls\",");
  EXPECT_TRUE(std::holds_alternative<UnreadableLine>(read_recorder_line(twice)));
}

TEST(RecorderLine, InvalidUtf8AndDepthRefuseTheLine) {
  std::string bad = recording("K03")[0];
  bad.replace(bad.find("pwd"), 3, "\xff\xfe!");
  EXPECT_TRUE(std::holds_alternative<UnreadableLine>(read_recorder_line(bad)));
  const std::string deep =
      "{\"dir\":\"in\",\"msg\":{\"method\":\"session/request_permission\",\"x\":" + std::string(50000, '[') +
      std::string(50000, ']') + "}}";
  EXPECT_TRUE(std::holds_alternative<UnreadableLine>(read_recorder_line(deep)));
}

TEST(RecorderLine, AGluedRequestIsUnreadableAndOrdinaryNoiseIsNothing) {
  EXPECT_TRUE(std::holds_alternative<UnreadableLine>(read_recorder_line("x" + recording("K03")[0])));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(read_recorder_line("not json")));
}

std::string with(std::string line, const std::string& from, const std::string& to) {
  const std::size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos);
  return line.replace(at, from.size(), to);
}

TEST(RecorderLine, ANameThatImitatesAnotherChoiceIsForTheTerminal) {
  const std::string line = with(recording("K03")[0], "\"name\":\"Always\"", "\"name\":\"Yes, single permission\"");
  EXPECT_EQ(request_of(line).only_terminal, "a choice is named like another kind's");
}

TEST(RecorderLine, AQuestionWithARejectChoiceIsStillAQuestion) {
  const std::string line = with(recording("K14")[0], "\"name\":\"Quick Spec\",\"kind\":\"allow_once\"",
                                "\"name\":\"Keep\",\"kind\":\"reject_once\"");
  EXPECT_TRUE(request_of(line).question);
}

TEST(RecorderLine, ShortenedCommandIsNotWhole) {
  EXPECT_FALSE(request_of(with(recording("K03")[0], "Running: pwd", "Running: pwd \u2026")).request.subject_is_whole);
  EXPECT_TRUE(request_of(with(recording("K03")[0], "Running: pwd", "Running: go test ./...")).request.subject_is_whole);
}

TEST(RecorderLine, ACommandToldTwiceMustBeTheSame) {
  const std::string other = with(recording("K03")[0], "\"title\":\"Running: pwd\"",
                                 "\"title\":\"Running: pwd\",\"rawInput\":{\"command\":\"rm -rf x\"}");
  EXPECT_FALSE(request_of(other).request.subject_is_whole);
  const std::string shell =
      with(with(recording("K12")[0], "\"policy_check\"", "\"true\""), "\"command\":\"true\"", "\"command\":\"false\"");
  EXPECT_FALSE(request_of(shell).request.subject_is_whole);
  EXPECT_EQ(request_of(shell).only_terminal, "the request names two different commands");
  EXPECT_TRUE(request_of(with(recording("K12")[0], "\"policy_check\"", "\"true\"")).request.subject_is_whole);
}

TEST(RecorderLine, AToolThatContradictsTheCapabilityIsNotBelieved) {
  EXPECT_FALSE(request_of(with(recording("K10")[0], "\"toolId\":\"fs_write\"", "\"toolId\":\"run_command\""))
                   .request.subject_is_whole);
}

TEST(RecorderLine, OtherTitlesHaveACapabilityButNoWholeSubject) {
  const PromptRequest write = request_of(with(recording("K03")[0], "Running: pwd", "Write notes.txt"));
  EXPECT_EQ(write.request.capability, policy::Capability::fs_write);
  EXPECT_FALSE(write.request.subject_is_whole);
  EXPECT_TRUE(write.only_terminal.empty());
  EXPECT_EQ(request_of(with(recording("K03")[0], "Running: pwd", "Writer notes.txt")).request.capability,
            policy::Capability::unknown);
}

TEST(RecorderLine, ATitleOf1500CharactersStaysWhole) {
  const std::string command(1500, 'a');
  const PromptRequest prompt = request_of(with(recording("K03")[0], "Running: pwd", "Running: " + command));
  EXPECT_EQ(prompt.request.subject.bytes(), command);
  EXPECT_EQ(prompt.request.title.display(1024).substr(0, 9), "Running: ");
}

TEST(RecorderLine, OddAnswers) {
  const auto nothing = [](const std::string& line) {
    return std::holds_alternative<std::monostate>(read_recorder_line(line));
  };
  EXPECT_TRUE(nothing(R"({"dir":"out","msg":{"id":"a","result":{"outcome":{"outcome":"selected","optionId":null}}}})"));
  EXPECT_TRUE(nothing(R"({"dir":"out","msg":{"id":"a","result":{"outcome":"selected"}}})"));
  EXPECT_TRUE(nothing(R"({"dir":"out","msg":{"id":true,"result":{"outcome":{"outcome":"cancelled"}}}})"));
  EXPECT_TRUE(nothing(R"({"dir":"up","msg":{"id":"a","result":{"outcome":{"outcome":"cancelled"}}}})"));
  EXPECT_TRUE(nothing(R"({"dir":"out","msg":{"id":"a","method":"x","result":{"outcome":{"outcome":"cancelled"}}}})"));
}

}  // namespace
}  // namespace oncelatch::elicitation
