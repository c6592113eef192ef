// What becomes of a held name's question outside: nothing is allowed that isn't in the record, and no question lasts.
#include "launcher/held_prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>

#include "base/beneath.h"

namespace oncelatch::launcher {
namespace {

using sandbox::HeldKind;
using sandbox::HeldVerdict;
using ::testing::ElementsAre;

// Writes down, and fails from a given step on.
class Recorder final : public policy::DecisionRecorder {
 public:
  Status request_seen(const policy::PromptId& prompt, const policy::PermissionRequest&) override {
    return note("seen " + prompt.local_id);
  }
  Status decided(const policy::PromptId& prompt, const policy::PermissionRequest&, const policy::Decision&,
                 policy::Decider decider) override {
    return note("decided " + prompt.local_id + " " + std::string(policy::decider_name(decider)));
  }
  Status delivering(const policy::PromptId& prompt, policy::Verdict verdict, policy::Decider decider,
                    const std::string&) override {
    return note("delivering " + prompt.local_id + " " + std::string(policy::verdict_name(verdict)) + " " +
                std::string(policy::decider_name(decider)));
  }
  Status ended(const policy::PromptId& prompt, policy::Outcome outcome, const std::string&,
               const std::string&) override {
    return note("ended " + prompt.local_id + " " + std::string(policy::outcome_name(outcome)));
  }
  std::vector<std::string> rows;
  std::string broken;  // a row that begins so can't be written

 private:
  Status note(const std::string& row) {
    if (!broken.empty() && row.rfind(broken, 0) == 0) return fail("record", row, "broken");
    rows.push_back(row);
    return {};
  }
};

class HeldPromptsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/oncelatch-held-prompts-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory = name;
    const Fd opened = open_directory(directory).value();
    broker.emplace(approvals::Broker::listen(opened.get(), "approvals.sock", "20261130-153000-k3f9", clock).value());
    PromptsSetup prompts_setup;
    prompts_setup.session_id = "20261130-153000-k3f9";
    prompts_setup.broker = &*broker;
    prompts_setup.events = &events;
    prompts_setup.redactor = &redactor;
    prompts_setup.clock = &clock;
    prompts_setup.tell_front_ends = [](const Json&) {};
    prompts.emplace(prompts_setup);
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    inside.reset(ends[0]);
    HeldPromptsSetup setup;
    setup.workspace = "/ws";
    setup.decisions = &recorder;
    setup.prompts = &*prompts;
    setup.clock = &clock;
    setup.decide = [this](const policy::PermissionRequest& request) {
      asked.emplace_back(request.title.bytes());
      whole = request.subject_is_whole;
      policy::Decision decision;
      decision.effect = effect;
      return decision;
    };
    held.emplace(setup, Fd(ends[1]));
  }
  void TearDown() override {
    broker.reset();
    std::filesystem::remove_all(directory);
  }
  void say(HeldKind kind, std::uint32_t ticket, const std::string& path = "", int error = 0) {
    sandbox::HeldHeader header;
    header.magic = sandbox::kHeldMagic;
    header.kind = kind;
    header.ticket = ticket;
    header.error = error;
    header.path_size = static_cast<std::uint16_t>(path.size());
    std::string bytes(sizeof header, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes += path;
    ASSERT_EQ(::send(inside.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    held->handle_ready();
  }
  // "7 allowed", or empty where nothing was answered.
  std::string answered() {
    sandbox::HeldAnswer answer;
    if (::recv(inside.get(), &answer, sizeof answer, 0) != sizeof answer) return {};
    return std::to_string(answer.ticket) + (answer.verdict == HeldVerdict::allowed ? " allowed" : " refused");
  }

  ManualClock clock;
  redact::Redactor redactor = redact::Redactor::from_environment({});
  Events events;
  Recorder recorder;
  std::string directory;
  std::optional<approvals::Broker> broker;
  std::optional<Prompts> prompts;
  std::optional<HeldPrompts> held;
  Fd inside;
  policy::Effect effect = policy::Effect::ask;
  std::vector<std::string> asked;
  bool whole = false;
};

TEST_F(HeldPromptsTest, ThePolicyIsAskedOnceAndItsAnswerRecordedFirst) {
  effect = policy::Effect::allow;
  say(HeldKind::ask, 1, "/ws/package.json");
  EXPECT_EQ(answered(), "1 allowed");
  EXPECT_THAT(asked, ElementsAre("workspace guard: create package.json (package managers run its scripts)"));
  say(HeldKind::done, 1);
  EXPECT_THAT(recorder.rows,
              ElementsAre("seen g1", "decided g1 policy", "delivering g1 accept policy", "ended g1 confirmed"));
  EXPECT_EQ(held->waiting(), 0U);
}

TEST_F(HeldPromptsTest, WhatCantBeRecordedIsRefused) {
  effect = policy::Effect::allow;
  std::uint32_t ticket = 0;
  for (const char* step : {"seen", "decided", "delivering"}) {
    recorder.broken = step;
    say(HeldKind::ask, ++ticket, "/ws/package.json");
    EXPECT_EQ(answered(), std::to_string(ticket) + " refused") << step;
  }
  recorder.broken = "";
  effect = policy::Effect::ask;
  say(HeldKind::ask, ++ticket, "/ws/package.json");
  recorder.broken = "delivering";
  EXPECT_FALSE(held->answer({"g4", policy::Verdict::accept, ""}));
  EXPECT_EQ(answered(), "4 refused");
}

TEST_F(HeldPromptsTest, APersonsAnswerCountsOnce) {
  say(HeldKind::ask, 5, "/ws/.npmrc");
  EXPECT_EQ(answered(), "");
  EXPECT_EQ(held->waiting(), 1U);
  EXPECT_FALSE(held->answer({"g6", policy::Verdict::accept, ""}));
  EXPECT_TRUE(held->answer({"g5", policy::Verdict::accept, "digest"}));
  EXPECT_EQ(answered(), "5 allowed");
  EXPECT_FALSE(held->answer({"g5", policy::Verdict::accept, "digest"}));
  say(HeldKind::done, 5, "", 13);
  EXPECT_FALSE(held->answer({"g5", policy::Verdict::accept, "digest"}));
  EXPECT_EQ(answered(), "");
}

TEST_F(HeldPromptsTest, NobodyAnswersInTime) {
  say(HeldKind::ask, 1, "/ws/package.json");
  ASSERT_TRUE(held->next_deadline());
  clock.advance(HeldPrompts::kPatience - Nanoseconds(1));
  held->handle_ready();
  EXPECT_EQ(answered(), "");
  clock.advance(Nanoseconds(1));
  held->handle_ready();
  EXPECT_EQ(answered(), "1 refused");
  EXPECT_FALSE(held->next_deadline());
  EXPECT_THAT(recorder.rows, ::testing::Contains("delivering g1 decline nobody"));
}

// A rule can't speak of a name that is no text; a person sees it escaped.
TEST_F(HeldPromptsTest, ANameThatIsNoText) {
  say(HeldKind::ask, 1, "/ws/\xff\x1b[2J/package.json");
  EXPECT_THAT(asked, ElementsAre(::testing::AllOf(::testing::HasSubstr("workspace guard: create "),
                                                  ::testing::HasSubstr("xff"), ::testing::HasSubstr("/package.json"),
                                                  ::testing::Not(::testing::HasSubstr("\x1b")))));
  EXPECT_FALSE(whole);
  say(HeldKind::ask, 2, "/ws/package.json");
  EXPECT_TRUE(whole);
}

// The broker is believed no further than it must be.
TEST_F(HeldPromptsTest, OddMessagesDoNothing) {
  say(HeldKind::done, 9);
  say(HeldKind::withdrawn, 9);
  say(HeldKind::refused, 0, "/ws/package.json");
  say(HeldKind::ask, 1, "/ws/package.json");
  say(HeldKind::ask, 1, "/ws/.npmrc");
  say(HeldKind::done, 1);
  EXPECT_EQ(asked.size(), 1U);
  EXPECT_EQ(held->waiting(), 1U) << "not answered yet";
  for (std::uint32_t ticket = 2; ticket < 200; ++ticket) say(HeldKind::ask, ticket, "/ws/package.json");
  EXPECT_EQ(held->waiting(), 2 * sandbox::kMostQuestions);
  EXPECT_EQ(answered(), std::to_string(2 * sandbox::kMostQuestions + 1) + " refused");
  held->finish("over");
  EXPECT_EQ(held->waiting(), 0U);
}

}  // namespace
}  // namespace oncelatch::launcher
