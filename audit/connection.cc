#include "audit/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sqlite3.h>

#include <array>
#include <utility>

#include "audit/database_file.h"

namespace oncelatch::audit {
namespace {

constexpr int busy_milliseconds = 5000;
constexpr int most_value_bytes = 8 << 20;

Failure sqlite_failure(sqlite3* database, const std::string& path, const char* doing) {
  const int code = sqlite3_extended_errcode(database);
  const char* next = "check free space and permissions of the directory; without the record nothing is approved";
  if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB)
    next = "keep the file as evidence and name another database";
  Failure failure = fail("audit", path, fmt::format("{}: {} ({})", doing, sqlite3_errmsg(database), code), next);
  failure.value().errno_value = sqlite3_system_errno(database);
  return failure;
}

// A view without memory would bind NULL.
const char* memory_of(std::string_view bytes) {
  return bytes.data() == nullptr ? "" : bytes.data();
}

struct Switch {
  int option;
  int value;
};
// No triggers, views or functions of a planted schema run; the schema can't be written behind SQLite's back.
constexpr std::array<Switch, 6> switches{{{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                          {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                          {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                          {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                          {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                          {SQLITE_DBCONFIG_ENABLE_FKEY, 1}}};

struct Pragma {
  const char* name;
  const char* value;
};
constexpr std::array<Pragma, 5> both_pragmas{{{"trusted_schema", "0"},
                                              {"foreign_keys", "1"},
                                              {"cell_size_check", "1"},
                                              {"temp_store", "2"},  // memory: nothing in temporary files
                                              {"mmap_size", "0"}}};
constexpr std::array<Pragma, 2> write_pragmas{{{"synchronous", "2"}, {"secure_delete", "1"}}};
constexpr std::array<Pragma, 1> read_pragmas{{{"query_only", "1"}}};

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}
void Connection::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Status Statement::check(int code, const char* doing) const {
  if (code != SQLITE_OK) return sqlite_failure(sqlite3_db_handle(statement_.get()), path_, doing);
  return {};
}

Status Statement::bind_text(int index, std::string_view text) {
  return check(
      sqlite3_bind_text64(statement_.get(), index, memory_of(text), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8),
      "bind");
}

Status Statement::bind_blob(int index, std::string_view bytes) {
  return check(sqlite3_bind_blob64(statement_.get(), index, memory_of(bytes), bytes.size(), SQLITE_TRANSIENT), "bind");
}

Status Statement::bind_integer(int index, std::int64_t value) {
  return check(sqlite3_bind_int64(statement_.get(), index, value), "bind");
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_failure(sqlite3_db_handle(statement_.get()), path_, "step");
}

Status Statement::reset() {
  return check(sqlite3_reset(statement_.get()), "reset");
}

std::string_view Statement::text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return {};
  const unsigned char* start = sqlite3_column_text(statement_.get(), column);
  if (start == nullptr) return {};
  return {reinterpret_cast<const char*>(start),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::blob(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_BLOB) return {};
  const void* start = sqlite3_column_blob(statement_.get(), column);
  if (start == nullptr) return {};
  return {static_cast<const char*>(start), static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

Result<Connection> Connection::open(const std::string& path, Mode mode) {
  const std::string real = TRY(mode == Mode::write ? prepare_for_writing(path) : prepare_for_reading(path));
  const int access = mode == Mode::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(real.c_str(), &database,
                      access | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE, nullptr);
  Connection connection(database, path);
  if (database == nullptr) return fail("audit", path, "open: out of memory");
  if (code != SQLITE_OK) return sqlite_failure(database, path, "open");
  TRY(connection.configure(mode));
  return connection;
}

Result<Statement> Connection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    return sqlite_failure(database_.get(), path_, "prepare");
  return Statement(statement, path_);
}

Status Connection::execute(std::string_view sql) {
  Statement statement = TRY(prepare(sql));
  while (TRY(statement.step())) {
  }
  return {};
}

Result<std::string> Connection::read_pragma(const char* name) {
  Statement statement = TRY(prepare(fmt::format("PRAGMA {}", name)));
  const bool found = TRY(statement.step());
  const auto* value = found ? sqlite3_column_text(statement.statement_.get(), 0) : nullptr;  // a number as text, too
  return std::string(value == nullptr ? "" : reinterpret_cast<const char*>(value));
}

Status Connection::set_pragma(const char* name, const char* value) {
  TRY(execute(fmt::format("PRAGMA {}={}", name, value)));
  const std::string now = TRY(read_pragma(name));
  if (now != value)
    return fail("audit", path_, fmt::format("SQLite keeps {} at '{}' instead of '{}'", name, now, value));
  return {};
}

// Switching takes an exclusive lock that SQLite's busy handler doesn't wait for.
Status Connection::switch_to_wal() {
  Status status;
  for (int left = busy_milliseconds; left > 0; left -= 50) {
    status = set_pragma("journal_mode", "wal");
    if (status || (sqlite3_errcode(database_.get()) & 0xff) != SQLITE_BUSY) return status;
    ::poll(nullptr, 0, 50);
  }
  return status;
}

Status Connection::configure(Mode mode) {
  sqlite3_busy_timeout(database_.get(), busy_milliseconds);
  sqlite3_limit(database_.get(), SQLITE_LIMIT_LENGTH, most_value_bytes);
  sqlite3_limit(database_.get(), SQLITE_LIMIT_ATTACHED, 0);
  for (const Switch& one : switches) {
    int now = -1;
    if (sqlite3_db_config(database_.get(), one.option, one.value, &now) != SQLITE_OK || now != one.value)
      return fail("audit", path_, fmt::format("SQLite refuses setting {}", one.option));
  }
  for (const Pragma& one : both_pragmas) TRY(set_pragma(one.name, one.value));
  if (mode == Mode::read) {
    for (const Pragma& one : read_pragmas) TRY(set_pragma(one.name, one.value));
    return {};
  }
  TRY(switch_to_wal());
  for (const Pragma& one : write_pragmas) TRY(set_pragma(one.name, one.value));
  return {};
}

}  // namespace oncelatch::audit
