#include "audit/log.h"

#include "audit/chain.h"
#include "audit/connection.h"
#include "tests/audit/support.h"

namespace oncelatch::audit::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class LogTest : public AuditTest {};

TEST_F(LogTest, RowsComeBackAsTheyWereWritten) {
  Log log = open_log();
  ASSERT_TRUE(log.begin(session_one, Json{{"agent", "kiro"}}));
  clock_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(log.append("decision", Json{{"effect", "deny"}, {"n", 7}}));
  ASSERT_TRUE(log.end(Json{{"exit_code", 0}}));
  const std::vector<Row> found = rows();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].kind, "session_start");
  EXPECT_EQ(found[1].session, session_one);
  EXPECT_EQ(found[1].sequence, 2);
  EXPECT_EQ(found[1].time, rfc3339(clock_.wall()));
  EXPECT_EQ(found[1].body, (Json{{"effect", "deny"}, {"n", 7}}));
  EXPECT_EQ(found[2].kind, "session_end");
}

TEST_F(LogTest, FilterTakesOneSessionAndTheNewest) {
  write_session(session_one, 5);
  write_session(session_two, 5);
  EXPECT_EQ(rows({session_two, 1000}).size(), 5U);
  EXPECT_TRUE(rows({"none", 1000}).empty());
  const std::vector<Row> newest = rows({"", 2});
  ASSERT_EQ(newest.size(), 2U);
  EXPECT_EQ(newest[0].sequence, 4);
  EXPECT_EQ(newest[1].kind, "session_end");
  EXPECT_TRUE(rows({"", 0}).empty());
}

TEST_F(LogTest, ListsWhileASessionWrites) {
  Log log = open_log();
  ASSERT_TRUE(log.begin(session_one, Json::object()));
  for (int count = 0; count < 20; ++count) {
    ASSERT_TRUE(log.append("decision", Json{{"n", count}}));
    EXPECT_EQ(rows().size(), static_cast<std::size_t>(count) + 2);
    EXPECT_EQ(verify().incomplete_sessions, std::vector<std::string>{session_one});
  }
  ASSERT_TRUE(log.end(Json::object()));
  EXPECT_TRUE(verify().incomplete_sessions.empty());
}

TEST_F(LogTest, OrderOfCallsIsChecked) {
  Log log = open_log();
  EXPECT_FALSE(log.append("decision", Json::object()));
  EXPECT_FALSE(log.end(Json::object()));
  EXPECT_FALSE(log.begin("../etc", Json::object()));
  EXPECT_FALSE(log.begin("", Json::object()));
  ASSERT_TRUE(log.begin(session_one, Json::object()));
  EXPECT_FALSE(log.begin(session_two, Json::object()));
  EXPECT_FALSE(log.append("session_end", Json::object()));
  EXPECT_FALSE(log.append("Kind\n", Json::object()));
  ASSERT_TRUE(log.append("error", Json::object()));
  ASSERT_TRUE(log.end(Json::object()));
  EXPECT_FALSE(log.append("decision", Json::object()));
  EXPECT_FALSE(log.end(Json::object()));
  EXPECT_EQ(rows().size(), 3U);
}

TEST_F(LogTest, ASessionIdIsUsedOnce) {
  write_session(session_one, 3);
  Log log = open_log();
  EXPECT_FALSE(log.begin(session_one, Json::object()));
  EXPECT_EQ(verify().altered_at, "");
}

TEST_F(LogTest, CredentialsAreRedactedInValuesAndKeys) {
  Log log = open_log();
  ASSERT_TRUE(log.begin(session_one, Json{{"note", std::string("key ") + credential}, {std::string(credential), 1}}));
  const std::string body = dump_json(rows().at(0).body);
  EXPECT_THAT(body, Not(HasSubstr(credential)));
  EXPECT_THAT(body, HasSubstr("[redacted"));
}

// Redaction leaves numbers alone, so the gate on the finished bytes has to stop this one.
TEST_F(LogTest, GateRefusesANumericCredential) {
  Log log = open_log();
  ASSERT_TRUE(log.begin(session_one, Json::object()));
  const Status status = log.append("decision", Json{{"pin", 4711081547}});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("credential"));
  EXPECT_THAT(status.error().message(), Not(HasSubstr("4711081547")));
  EXPECT_FALSE(log.append("decision", Json::object())) << "a refused row breaks the log";
  EXPECT_EQ(rows().size(), 1U);
}

TEST_F(LogTest, GateRefusesATextWithACredential) {
  Log log = open_log();
  EXPECT_FALSE(log.store_text(std::string("# ") + credential));
  EXPECT_FALSE(log.begin(session_one, Json::object()));
}

TEST_F(LogTest, TextIsStoredOnceUnderItsDigest) {
  Log log = open_log();
  const std::string text = "version: 1\n";
  const Result<std::string> digest = log.store_text(text);
  ASSERT_TRUE(digest);
  EXPECT_EQ(*digest, sha256_hex(text));
  EXPECT_EQ(log.store_text(text).value(), *digest);
  EXPECT_EQ(verify().altered_at, "");
  attack("UPDATE texts SET text = x'00'");
  EXPECT_EQ(verify().altered_at, "text " + *digest);
}

TEST_F(LogTest, EmptyTextIsAText) {
  Log log = open_log();
  EXPECT_EQ(log.store_text(std::string_view()).value_or("refused"), sha256_hex(""));
  EXPECT_EQ(verify().altered_at, "");
}

TEST_F(LogTest, ARowBeyondTheBoundIsRefused) {
  Log log = open_log();
  ASSERT_TRUE(log.begin(session_one, Json::object()));
  EXPECT_FALSE(log.append("decision", Json(std::string(3 << 20, 'a'))));
  EXPECT_FALSE(log.append("decision", Json::object()));
}

TEST_F(LogTest, SettingsHold) {
  write_session(session_one, 2);
  Result<Connection> connection = Connection::open(directory_.database(), Connection::Mode::write);
  ASSERT_TRUE(connection) << connection.error().message();
  const auto value = [&](const std::string& name) {
    Statement statement = std::move(*connection->prepare("PRAGMA " + name));
    EXPECT_TRUE(statement.step().value_or(false));
    const std::string_view text = statement.text(0);
    return text.empty() ? std::to_string(statement.integer(0)) : std::string(text);
  };
  EXPECT_EQ(value("journal_mode"), "wal");
  EXPECT_EQ(value("synchronous"), "2");
  EXPECT_EQ(value("trusted_schema"), "0");
  EXPECT_EQ(value("foreign_keys"), "1");
  EXPECT_EQ(value("busy_timeout"), "5000");
  EXPECT_FALSE(connection->execute("ATTACH ':memory:' AS other"));
  ASSERT_TRUE(connection->execute("PRAGMA writable_schema=1"));
  EXPECT_FALSE(connection->execute("UPDATE sqlite_schema SET sql = ''")) << "defensive mode";
}

TEST_F(LogTest, ReadersCannotWrite) {
  write_session(session_one, 2);
  Result<Connection> connection = Connection::open(directory_.database(), Connection::Mode::read);
  ASSERT_TRUE(connection);
  EXPECT_FALSE(connection->execute("DELETE FROM rows"));
}

}  // namespace
}  // namespace oncelatch::audit::test
