#include "approvals/client.h"
#include "tests/approvals/support.h"

namespace oncelatch::approvals::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* credential = "sk-live-0123456789abcdef";
const std::string hostile = "\x1b[2J\x1b]0;t\x07\u202egnp\u2066\u200b\u2028\u0085\ufeff\r\n  accept  yes\x7f\xff\\x1b";

void expect_harmless(const std::string& text) {
  for (const char letter : text) {
    const auto octet = static_cast<unsigned char>(letter);
    ASSERT_TRUE(letter == '\n' || (octet >= 0x20 && octet != 0x7f)) << static_cast<int>(octet);
  }
  for (const char* hidden : {"\u202e", "\u2066", "\u200b", "\u2028", "\u0085", "\ufeff"})
    EXPECT_THAT(text, Not(HasSubstr(hidden)));
}

class CardTest : public testing::Test {
 protected:
  Card make() { return make_card({"7", std::string(64, 'a'), "p3"}, request_, decision_, redactor_, clock_); }

  redact::Redactor redactor_ = redact::Redactor::from_environment({std::string("KIRO_API_KEY=") + credential});
  ManualClock clock_;
  policy::PermissionRequest request_;
  policy::Decision decision_;
};

TEST_F(CardTest, ShowsTheWholeRequest) {
  request_.capability = policy::Capability::shell;
  request_.title = Untrusted("Run it");
  request_.subject = Untrusted("echo " + std::string(5000, 'x') + " && git push");
  request_.subject_is_whole = true;
  decision_.members = {{{"echo", "a b", "it's", ""}, policy::Effect::allow}, {{"git", "push"}, policy::Effect::deny}};
  decision_.reasons = {{"no-push", policy::Effect::ask, "git push", "Review."},
                       {"", policy::Effect::ask, "", "default"}};
  decision_.floor = {"opaque-shell"};
  const Card card = make();
  EXPECT_EQ(card.local_id, "p3");
  EXPECT_EQ(card.capability, "shell");
  EXPECT_EQ(card.subject, request_.subject.bytes()) << "never shortened";
  EXPECT_EQ(card.members, (std::vector<std::string>{"echo 'a b' 'it'\\\\''s' ''", "git push"}));
  EXPECT_EQ(card.reasons, (std::vector<std::string>{"ask: rule no-push: Review. [git push]", "ask: no rule: default",
                                                    "floor: opaque-shell"}));
  EXPECT_EQ(card.since, rfc3339(clock_.wall()));
}

TEST_F(CardTest, SaysThatTheSubjectIsNotWhole) {
  EXPECT_EQ(make().reasons, std::vector<std::string>{"the subject isn't known whole"});
}

TEST_F(CardTest, DigestCoversEveryField) {
  const Card card = make_test_card("p1");
  std::vector<Card> changed(9, card);
  changed[0].local_id = "p2";
  changed[1].agent = "x";
  changed[2].capability = "x";
  changed[3].title += " ";
  changed[4].subject = "x";
  changed[5].members = {"git", "push"};
  changed[6].reasons.clear();
  changed[7].working_directory = "/";
  changed[8].since = "x";
  for (const Card& other : changed) EXPECT_NE(other.digest(), card.digest());
  EXPECT_EQ(card.json()["digest"], card.digest());
  EXPECT_EQ(card_digest(card.json()), card.digest());
  EXPECT_TRUE(check_card(card.json()));
}

// Computed by a separate program: SHA-256 of the sorted, compact JSON.
TEST_F(CardTest, DigestVector) {
  EXPECT_EQ(make_test_card("p3").digest(), "5334c4241c85a8a82b5b92f8fe1e71ba2ff93fe261431edd4dc3781b3c59a3b8");
}

TEST_F(CardTest, HostileTextIsMadeVisible) {
  request_.title = request_.subject = Untrusted(hostile);
  decision_.members = {{{hostile, "x"}, policy::Effect::ask}};
  decision_.reasons = {{hostile, policy::Effect::ask, hostile, hostile}};
  decision_.floor = {hostile};
  const Card card = make();
  expect_harmless(dump_json(card.json()));
  const std::string text = describe({"k3f9-p3", session_one, card.json()});
  expect_harmless(text);
  EXPECT_THAT(text, HasSubstr("\\x1b[2J"));
  EXPECT_THAT(text, HasSubstr("\\\\x1b")) << "a backslash of the text can't be taken for an escape";
  EXPECT_THAT(text, HasSubstr(card.subject)) << "escaping again changes nothing that was escaped";
  EXPECT_THAT(text, Not(HasSubstr("\n  accept  yes")));
}

TEST_F(CardTest, CardOfAHostileBrokerIsHarmlessToo) {
  Card card = make_test_card(hostile);
  card.agent = card.title = card.subject = card.capability = card.working_directory = card.since = hostile;
  card.members = card.reasons = {hostile};
  expect_harmless(describe({hostile, hostile, card.json()}));
  expect_harmless(describe({"", "", Json(hostile)}));
}

TEST_F(CardTest, CredentialsAreRedacted) {
  request_.title = request_.subject = Untrusted(std::string("curl -H ") + credential);
  decision_.members = {{{"curl", "-H", credential}, policy::Effect::ask}};
  decision_.reasons = {{"r", policy::Effect::ask, credential, credential}};
  EXPECT_THAT(dump_json(make().json()), Not(HasSubstr(credential)));
}

TEST_F(CardTest, DescribeNamesTheTwoCommands) {
  const std::string text = describe({"k3f9-p3", session_one, make_test_card("p3").json()});
  EXPECT_EQ(text,
            "k3f9-p3  kiro asks: shell, since 2026-11-30T15:30:00.000000000Z\n"
            "  title     Run git push\n"
            "  subject   git push\n"
            "  runs      git push\n"
            "  policy    ask: no rule\n"
            "  directory /work\n"
            "  accept    oncelatch approvals accept k3f9-p3\n"
            "  decline   oncelatch approvals decline k3f9-p3\n");
}

}  // namespace
}  // namespace oncelatch::approvals::test
