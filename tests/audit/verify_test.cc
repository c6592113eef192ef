// What somebody with raw write access does to the rows, and what verification says.
#include "tests/audit/support.h"

namespace oncelatch::audit::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string place(const std::string& session, int sequence) {
  return session + "/" + std::to_string(sequence);
}

class VerifyTest : public AuditTest {
 protected:
  void SetUp() override {
    write_session(session_one, 6);
    write_session(session_two, 4);
  }
};

TEST_F(VerifyTest, UntouchedFits) {
  const VerifyReport report = verify();
  EXPECT_EQ(report.rows, 10);
  EXPECT_EQ(report.altered_at, "");
  EXPECT_THAT(report.incomplete_sessions, IsEmpty());
}

TEST_F(VerifyTest, AlteredRowIsNamed) {
  attack("UPDATE rows SET bytes = replace(bytes, '\"n\":3', '\"n\":9') WHERE sequence = 3 AND session LIKE '%k3f9'");
  EXPECT_EQ(verify().altered_at, place(session_one, 3));
}

TEST_F(VerifyTest, AlteredChainIsNamed) {
  attack("UPDATE rows SET chain = zeroblob(32) WHERE sequence = 5");
  EXPECT_EQ(verify().altered_at, place(session_one, 5));
}

TEST_F(VerifyTest, DeletedRowIsNamed) {
  attack("DELETE FROM rows WHERE sequence = 3 AND session LIKE '%k3f9'");
  EXPECT_EQ(verify().altered_at, place(session_one, 3));
}

TEST_F(VerifyTest, DeletedFirstRowIsNamed) {
  attack("DELETE FROM rows WHERE sequence = 1 AND session LIKE '%k3f9'");
  EXPECT_EQ(verify().altered_at, place(session_one, 1));
}

TEST_F(VerifyTest, DeletedAndRenumberedRowIsNamed) {
  attack(
      "DELETE FROM rows WHERE sequence = 3 AND session LIKE '%k3f9';"
      "UPDATE rows SET sequence = sequence - 1 WHERE sequence > 3 AND session LIKE '%k3f9'");
  EXPECT_EQ(verify().altered_at, place(session_one, 3));
}

TEST_F(VerifyTest, SwappedRowsAreNamed) {
  attack(
      "UPDATE rows SET sequence = 99 WHERE sequence = 3 AND session LIKE '%k3f9';"
      "UPDATE rows SET sequence = 3 WHERE sequence = 4 AND session LIKE '%k3f9';"
      "UPDATE rows SET sequence = 4 WHERE sequence = 99");
  EXPECT_EQ(verify().altered_at, place(session_one, 3));
}

TEST_F(VerifyTest, SwappedPlacesAreNamed) {
  attack(
      "UPDATE rows SET position = 99 WHERE position = 3; UPDATE rows SET position = 3 WHERE position = 4;"
      "UPDATE rows SET position = 4 WHERE position = 99");
  EXPECT_EQ(verify().altered_at, place(session_one, 3));
}

TEST_F(VerifyTest, RowMovedToAnotherSessionIsNamed) {
  attack("UPDATE rows SET session = '20261130-153001-a1b2', sequence = 5 WHERE sequence = 6");
  EXPECT_EQ(verify().altered_at, place(session_two, 1)) << "it stands before that session's first row";
}

TEST_F(VerifyTest, CutTailMakesAFinishedSessionIncomplete) {
  attack("DELETE FROM rows WHERE sequence >= 5 AND session LIKE '%k3f9'");
  const VerifyReport report = verify();
  EXPECT_EQ(report.altered_at, "");
  EXPECT_THAT(report.incomplete_sessions, ElementsAre(session_one));
}

TEST_F(VerifyTest, AddedRowIsNamed) {
  attack(
      "INSERT INTO rows (session, sequence, bytes, chain) SELECT session, 7, bytes, chain FROM rows WHERE sequence = "
      "6");
  EXPECT_EQ(verify().altered_at, place(session_one, 7));
}

TEST_F(VerifyTest, HostileSessionNameIsHarmless) {
  attack("UPDATE rows SET session = char(27) || '[2J' WHERE sequence = 6");
  EXPECT_EQ(verify().altered_at, "\\x1b[2J/1");
}

TEST_F(VerifyTest, ListShowsATamperedRowInsteadOfFailing) {
  attack("UPDATE rows SET bytes = '{' WHERE sequence = 5");
  const std::vector<Row> found = rows();
  ASSERT_EQ(found.size(), 10U);
  EXPECT_EQ(found[4].kind, "unreadable");
  EXPECT_EQ(found[5].kind, "session_end");
}

// Without a key or a copy elsewhere nobody can see that a whole session is gone (docs/AUDIT_FORMAT.md says so).
TEST_F(VerifyTest, ARemovedSessionIsNotSeen) {
  attack("DELETE FROM rows WHERE session LIKE '%k3f9'");
  EXPECT_EQ(verify().altered_at, "");
  EXPECT_EQ(verify().rows, 4);
}

TEST_F(VerifyTest, BrokenPagesAreAnError) {
  std::filesystem::resize_file(directory_.database(), 4096);
  EXPECT_FALSE(verify_rows(directory_.database()));
}

}  // namespace
}  // namespace oncelatch::audit::test
