// Killed writers, full disks, several writers.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/audit/support.h"

namespace oncelatch::audit::test {
namespace {

// Runs `work` in a child and returns its wait status. The child opens its own log.
int in_child(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

class DurabilityTest : public AuditTest {
 protected:
  // Appends without end, telling `pipe` after each acknowledged row.
  void write_forever(int pipe) {
    Result<Log> log = Log::open(directory_.database(), redactor_, clock_);
    if (!log || !log->begin(session_one, Json::object())) return;
    for (int count = 0;; ++count) {
      if (!log->append("decision", Json{{"n", count}})) return;
      if (::write(pipe, "x", 1) != 1) return;
    }
  }
};

TEST_F(DurabilityTest, AcknowledgedRowsSurviveSigkill) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    write_forever(pipe[1]);
    ::_exit(1);
  }
  ::close(pipe[1]);
  std::size_t acknowledged = 0;
  char byte = 0;
  while (acknowledged < 100 && ::read(pipe[0], &byte, 1) == 1) ++acknowledged;
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  while (::read(pipe[0], &byte, 1) == 1) ++acknowledged;
  ::close(pipe[0]);
  EXPECT_GE(acknowledged, 100U);
  EXPECT_GE(rows({"", 1'000'000}).size(), acknowledged + 1);
  EXPECT_EQ(verify().altered_at, "");
  EXPECT_EQ(verify().incomplete_sessions, std::vector<std::string>{session_one});
  write_session(session_two, 3);  // and the database goes on
}

TEST_F(DurabilityTest, FullDiskBreaksTheLogForGood) {
  write_session(session_two, 2);
  const int status = in_child([&] {
    Result<Log> log = Log::open(directory_.database(), redactor_, clock_);
    if (!log || !log->begin(session_one, Json::object())) return false;
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{128 << 10, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    int written = 0;
    while (written < 1000 && log->append("decision", Json(std::string(4000, 'x')))) ++written;
    ::setrlimit(RLIMIT_FSIZE, &before);
    // There is room again, but the log stays broken.
    return written < 1000 && !log->append("decision", Json::object()) && !log->end(Json::object()) &&
           !log->store_text("text");
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(verify().altered_at, "");
  EXPECT_EQ(verify().incomplete_sessions, std::vector<std::string>{session_one});
}

TEST_F(DurabilityTest, ReadOnlyDirectoryIsAnErrorAtOpen) {
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chown(directory_.path().c_str(), 65534, 65534), 0);
  }
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0500), 0);
  const int status = in_child([&] {
    if (root && ::setresuid(65534, 65534, 65534) != 0) return false;
    return !Log::open(directory_.database(), redactor_, clock_);
  });
  EXPECT_EQ(status, 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0700), 0);
  EXPECT_FALSE(std::filesystem::exists(directory_.database()));
}

TEST_F(DurabilityTest, SeveralWritersShareOneDatabase) {
  constexpr int writers = 4;
  constexpr int each = 50;
  std::vector<pid_t> children;
  for (int number = 0; number < writers; ++number) {
    const pid_t child = ::fork();
    if (child == 0) {
      Result<Log> log = Log::open(directory_.database(), redactor_, clock_);  // also made by all at once
      bool good = log && log->begin("session-" + std::to_string(number), Json::object());
      for (int count = 0; good && count < each; ++count) good = log->append("decision", Json{{"n", count}}).has_value();
      ::_exit(good && log->end(Json::object()) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const VerifyReport report = verify();
  EXPECT_EQ(report.rows, writers * (each + 2));
  EXPECT_EQ(report.altered_at, "");
  EXPECT_TRUE(report.incomplete_sessions.empty());
}

// Two connections in one process: closing one must not drop the other's locks.
TEST_F(DurabilityTest, ReadersInTheSameProcessDontDisturbTheWriter) {
  Log log = open_log();
  ASSERT_TRUE(log.begin(session_one, Json::object()));
  for (int count = 0; count < 10; ++count) {
    EXPECT_EQ(rows().size(), static_cast<std::size_t>(count) + 1);
    const int status = in_child([&] {  // as the last user it would remove the WAL
      return verify_rows(directory_.database()).has_value();
    });
    EXPECT_EQ(status, 0);
    ASSERT_TRUE(log.append("decision", Json{{"n", count}}));
  }
  ASSERT_TRUE(log.end(Json::object()));
  EXPECT_EQ(verify().rows, 12);
  EXPECT_EQ(verify().altered_at, "");
}

TEST_F(DurabilityTest, WriterThatWaitsTooLongFails) {
  write_session(session_one, 2);
  sqlite3* blocker = nullptr;
  ASSERT_EQ(sqlite3_open(directory_.database().c_str(), &blocker), SQLITE_OK);
  Log log = open_log();
  ASSERT_TRUE(log.begin(session_two, Json::object()));
  ASSERT_EQ(sqlite3_exec(blocker, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_FALSE(log.append("decision", Json::object()));
  sqlite3_close(blocker);
  EXPECT_FALSE(log.append("decision", Json::object()));
}

}  // namespace
}  // namespace oncelatch::audit::test
