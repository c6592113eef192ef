// Which files are refused before anything is written.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "tests/audit/support.h"

namespace oncelatch::audit::test {
namespace {

using testing::HasSubstr;

class FileTest : public AuditTest {
 protected:
  std::string refusal(const std::string& path) {
    const Result<Log> log = Log::open(path, redactor_, clock_);
    if (!log) return log.error().message();
    ADD_FAILURE() << "opened";
    return {};
  }
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
};

TEST_F(FileTest, IsMadePrivateUnderAnyMask) {
  const mode_t before = ::umask(0);
  const std::string path = directory_.path() + "/state/oncelatch/audit.db";
  Result<Log> log = Log::open(path, redactor_, clock_);
  ASSERT_TRUE(log) << log.error().message();
  ASSERT_TRUE(log->begin(session_one, Json::object()));
  ::umask(before);
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_EQ(mode_of(path + "-wal"), 0600U);
  EXPECT_EQ(mode_of(path + "-shm"), 0600U);
  EXPECT_EQ(mode_of(directory_.path() + "/state"), 0700U);
  EXPECT_EQ(mode_of(directory_.path() + "/state/oncelatch"), 0700U);
}

TEST_F(FileTest, SymbolicLinkIsRefused) {
  write_session(session_one, 2);
  const std::string link = directory_.path() + "/link.db";
  ASSERT_EQ(::symlink("audit.db", link.c_str()), 0);
  EXPECT_THAT(refusal(link), HasSubstr("symbolic link"));
  EXPECT_FALSE(list_rows(link, {}));
  EXPECT_FALSE(verify_rows(link));
  const std::string dangling = directory_.path() + "/dangling.db";
  ASSERT_EQ(::symlink("nowhere", dangling.c_str()), 0);
  EXPECT_THAT(refusal(dangling), HasSubstr("symbolic link"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/nowhere"));
}

TEST_F(FileTest, LinkedWalIsRefused) {
  write_session(session_one, 2);
  const std::string victim = directory_.path() + "/victim";
  std::ofstream(victim) << "text";
  ASSERT_EQ(::symlink("victim", (directory_.database() + "-wal").c_str()), 0);
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("symbolic link"));
}

TEST_F(FileTest, HardLinkIsRefused) {
  write_session(session_one, 2);
  ASSERT_EQ(::link(directory_.database().c_str(), (directory_.path() + "/second").c_str()), 0);
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("hard link"));
}

TEST_F(FileTest, RightsOfOthersAreRefused) {
  write_session(session_one, 2);
  ASSERT_EQ(::chmod(directory_.database().c_str(), 0640), 0);
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("group or others"));
}

TEST_F(FileTest, DirectoryOpenToOthersIsRefused) {
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("chmod 700"));
  EXPECT_FALSE(std::filesystem::exists(directory_.database()));
}

TEST_F(FileTest, ForeignOwnerIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a file of another user";
  write_session(session_one, 2);
  ASSERT_EQ(::chown(directory_.database().c_str(), 65534, 65534), 0);
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("another user"));
}

TEST_F(FileTest, OtherFilesAreRefused) {
  EXPECT_THAT(refusal(directory_.path() + "/"), HasSubstr("isn't the name of a file"));
  ASSERT_EQ(::mkdir((directory_.path() + "/folder").c_str(), 0700), 0);
  EXPECT_THAT(refusal(directory_.path() + "/folder"), HasSubstr("regular file"));
  ASSERT_EQ(::mkfifo((directory_.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(directory_.path() + "/pipe"), HasSubstr("regular file"));
  std::ofstream(directory_.database()) << std::string(5000, 'x');
  ASSERT_EQ(::chmod(directory_.database().c_str(), 0600), 0);
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("not a database"));
}

TEST_F(FileTest, MissingDatabaseIsAnErrorToReaders) {
  EXPECT_FALSE(list_rows(directory_.database(), {}));
  EXPECT_FALSE(verify_rows(directory_.database()));
  EXPECT_FALSE(std::filesystem::exists(directory_.database()));
}

// A trigger could drop rows that were acknowledged, a view could hide rows from the reader.
TEST_F(FileTest, PlantedSchemaIsRefused) {
  write_session(session_one, 2);
  attack("CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END");
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("audit database"));
  EXPECT_FALSE(list_rows(directory_.database(), {}));
  attack(
      "DROP TRIGGER t; ALTER TABLE rows RENAME TO hidden; CREATE VIEW rows AS SELECT * FROM hidden WHERE sequence > 1");
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("audit database"));
  EXPECT_FALSE(verify_rows(directory_.database()));
}

TEST_F(FileTest, OtherDatabasesAreRefused) {
  attack("CREATE TABLE rows (a)");
  ASSERT_EQ(::chmod(directory_.database().c_str(), 0600), 0);
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("isn't an audit database"));
  attack("PRAGMA application_id=1869505388; PRAGMA user_version=2");
  EXPECT_THAT(refusal(directory_.database()), HasSubstr("format version"));
}

}  // namespace
}  // namespace oncelatch::audit::test
