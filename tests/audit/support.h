// What the audit tests share: a private directory, a redactor with one credential, and the attacker's raw SQLite.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "audit/log.h"
#include "base/clock.h"
#include "redact/redactor.h"

namespace oncelatch::audit::test {

constexpr const char* session_one = "20261130-153000-k3f9";
constexpr const char* session_two = "20261130-153001-a1b2";
constexpr const char* credential = "sk-live-0123456789abcdef";

class PrivateDirectory {
 public:
  PrivateDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "oncelatch-audit-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~PrivateDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string database() const { return path_ + "/audit.db"; }

 private:
  std::string path_;
};

inline redact::Redactor test_redactor() {
  return redact::Redactor::from_environment({std::string("KIRO_API_KEY=") + credential, "KIRO_PIN_TOKEN=4711081547"});
}

class AuditTest : public testing::Test {
 protected:
  Log open_log() {
    Result<Log> log = Log::open(directory_.database(), redactor_, clock_);
    if (!log) ADD_FAILURE() << log.error().message();
    return std::move(*log);
  }

  // A finished session of `rows` rows, session_start and session_end included.
  void write_session(const std::string& session, int rows) {
    Log log = open_log();
    ASSERT_TRUE(log.begin(session, Json{{"agent", "kiro"}}));
    for (int row = 2; row < rows; ++row) ASSERT_TRUE(log.append("decision", Json{{"n", row}}));
    ASSERT_TRUE(log.end(Json{{"exit_code", 0}}));
  }

  // As somebody with write access and their own SQLite, every protection off.
  void attack(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(directory_.database().c_str(), &database), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << (message ? message : "");
    sqlite3_free(message);
    sqlite3_close(database);
  }

  VerifyReport verify() const {
    Result<VerifyReport> report = verify_rows(directory_.database());
    if (!report) ADD_FAILURE() << report.error().message();
    return report ? *report : VerifyReport();
  }

  std::vector<Row> rows(const ListFilter& filter = ListFilter()) const {
    Result<std::vector<Row>> found = list_rows(directory_.database(), filter);
    if (!found) ADD_FAILURE() << found.error().message();
    return found ? *found : std::vector<Row>();
  }

  PrivateDirectory directory_;
  redact::Redactor redactor_ = test_redactor();
  ManualClock clock_;
};

}  // namespace oncelatch::audit::test
