#include "audit/decision_log.h"

#include <fmt/format.h>

#include "audit/chain.h"
#include "tests/audit/support.h"

namespace oncelatch::audit::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class DecisionLogTest : public AuditTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(log_.begin(session_one, Json::object()));
    request_.title = Untrusted("Run git push --force");
    request_.subject = Untrusted("git push --force");
    request_.subject_is_whole = true;
    request_.capability = policy::Capability::shell;
    request_.options = {{Untrusted("allow"), Untrusted("Yes"), policy::OptionKind::allow_once}};
  }
  Json last() const { return rows().back().body; }

  Log log_ = open_log();
  DecisionLog recorder_{log_, redactor_};
  policy::PromptId prompt_{"\"7\"", std::string(64, 'a'), "p3"};
  policy::PermissionRequest request_;
};

TEST_F(DecisionLogTest, WritesTheFourKinds) {
  policy::Decision decision;
  decision.effect = policy::Effect::deny;
  decision.reasons = {{"no-push", policy::Effect::deny, "git push --force", "Push goes through review."}};
  decision.members = {{{"git", "push", "--force"}, policy::Effect::deny}};
  decision.floor = {"opaque-shell"};
  decision.policy_sha256 = std::string(64, 'b');
  ASSERT_TRUE(recorder_.request_seen(prompt_, request_));
  ASSERT_TRUE(recorder_.decided(prompt_, request_, decision, policy::Decider::policy));
  ASSERT_TRUE(recorder_.delivering(prompt_, policy::Verdict::decline, policy::Decider::person, std::string(64, 'c')));
  ASSERT_TRUE(recorder_.ended(prompt_, policy::Outcome::confirmed, "reject", ""));
  const std::vector<Row> found = rows();
  ASSERT_EQ(found.size(), 5U);
  const Json prompt{{"request_id", "\"7\""}, {"line_sha256", std::string(64, 'a')}, {"local_id", "p3"}};
  EXPECT_EQ(found[1].kind, "request");
  EXPECT_EQ(found[1].body["prompt"], prompt);
  EXPECT_EQ(found[1].body["subject"], "git push --force");
  EXPECT_EQ(found[1].body["options"][0]["kind"], "allow_once");
  EXPECT_EQ(found[2].kind, "decision");
  EXPECT_EQ(found[2].body["effect"], "deny");
  EXPECT_EQ(found[2].body["reasons"][0]["rule"], "no-push");
  EXPECT_EQ(found[2].body["members"][0]["argv"][1], "push");
  EXPECT_EQ(found[2].body["floor"], Json::array({"opaque-shell"}));
  EXPECT_EQ(found[2].body["decider"], "policy");
  EXPECT_EQ(found[3].kind, "delivering");
  EXPECT_EQ(found[3].body["verdict"], "decline");
  EXPECT_EQ(found[3].body["decider"], "person");
  EXPECT_EQ(found[4].kind, "outcome");
  EXPECT_EQ(found[4].body["outcome"], "confirmed");
}

TEST_F(DecisionLogTest, LongTextIsCutOutsideTheTextAndItsWholeDigestKept) {
  const std::string text(longest_text + 1, 'x');
  request_.subject = Untrusted(text);
  ASSERT_TRUE(recorder_.request_seen(prompt_, request_));
  EXPECT_EQ(last()["subject"].get<std::string>().size(), longest_text);
  EXPECT_EQ(last()["subject_cut"], (Json{{"bytes", text.size()}, {"sha256", sha256_hex(text)}}));
  EXPECT_FALSE(last().contains("title_cut"));
}

TEST_F(DecisionLogTest, TextIsCutBetweenCharacters) {
  std::string text(longest_text - 1, 'x');
  text += "\u20ac\u20ac";
  request_.subject = Untrusted(text);
  ASSERT_TRUE(recorder_.request_seen(prompt_, request_));
  EXPECT_EQ(last()["subject"], std::string(longest_text - 1, 'x'));
}

TEST_F(DecisionLogTest, CredentialAcrossTheCutIsRedactedFirst) {
  request_.subject = Untrusted(std::string(longest_text - 10, 'x') + credential);
  ASSERT_TRUE(recorder_.request_seen(prompt_, request_));
  EXPECT_THAT(last()["subject"].get<std::string>(), Not(HasSubstr(std::string(credential).substr(0, 8))));
}

TEST_F(DecisionLogTest, CredentialsAreRedactedEverywhere) {
  request_.title = request_.subject = Untrusted(std::string("curl -H ") + credential);
  request_.options[0].name = Untrusted(credential);
  prompt_.request_id = std::string("\"") + credential + "\"";
  policy::Decision decision;
  decision.reasons = {{"r", policy::Effect::ask, credential, credential}};
  decision.members = {{{"curl", credential}, policy::Effect::ask}};
  ASSERT_TRUE(recorder_.request_seen(prompt_, request_));
  ASSERT_TRUE(recorder_.decided(prompt_, request_, decision, policy::Decider::nobody));
  ASSERT_TRUE(recorder_.ended(prompt_, policy::Outcome::failed, credential, credential));
  for (const Row& row : rows()) EXPECT_THAT(dump_json(row.body), Not(HasSubstr(credential)));
}

// Redaction in place doesn't reach hex, the gate does: the text goes as a whole and the record goes on.
TEST_F(DecisionLogTest, FormThatOnlyTheGateFindsTakesTheWholeText) {
  std::string hex;
  for (const char letter : std::string(credential)) hex += fmt::format("{:02x}", static_cast<unsigned>(letter));
  ASSERT_TRUE(redactor_.contains_secret(hex));
  request_.title = request_.subject = Untrusted("echo " + hex);
  policy::Decision decision;
  decision.members = {{{"echo", hex}, policy::Effect::ask}};
  ASSERT_TRUE(recorder_.request_seen(prompt_, request_));
  EXPECT_EQ(last()["subject"], redactor_.marker());
  ASSERT_TRUE(recorder_.decided(prompt_, request_, decision, policy::Decider::nobody));
  EXPECT_EQ(last()["members"][0]["argv"], Json::array({"echo", redactor_.marker()}));
}

TEST_F(DecisionLogTest, ManyMembersAreCutAndCounted) {
  policy::Decision decision;
  decision.members.assign(4096, policy::Member{{std::string(100, 'x')}, policy::Effect::ask});
  ASSERT_TRUE(recorder_.decided(prompt_, request_, decision, policy::Decider::nobody));
  EXPECT_LT(last()["members"].size(), 4096U);
  EXPECT_EQ(last()["members_cut"]["items"], 4096);
}

TEST_F(DecisionLogTest, HostileMegabytesFitIntoARow) {
  std::string text;
  while (text.size() < (1 << 19)) text += "\x1b[2J\u202e\x7f\"\\\n";
  text.push_back('\0');
  request_.title = request_.subject = request_.tool_call_id = request_.session_id = Untrusted(text);
  ASSERT_TRUE(recorder_.request_seen(prompt_, request_));
  EXPECT_EQ(last()["title_cut"]["bytes"], text.size());
  EXPECT_EQ(verify().altered_at, "");
}

TEST_F(DecisionLogTest, BrokenLogFailsEveryRecord) {
  ASSERT_FALSE(log_.append("error", Json{{"pin", 4711081547}}));
  EXPECT_FALSE(recorder_.request_seen(prompt_, request_));
  EXPECT_FALSE(recorder_.decided(prompt_, request_, {}, policy::Decider::policy));
  EXPECT_FALSE(recorder_.delivering(prompt_, policy::Verdict::accept, policy::Decider::person, ""));
  EXPECT_FALSE(recorder_.ended(prompt_, policy::Outcome::failed, "", ""));
}

}  // namespace
}  // namespace oncelatch::audit::test
