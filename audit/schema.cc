#include "audit/schema.h"

#include <array>
#include <string>
#include <string_view>

namespace oncelatch::audit {
namespace {

struct Entry {
  std::string_view type;
  std::string_view name;
  std::string_view sql;
};

constexpr std::string_view rows_sql =
    "CREATE TABLE rows (position INTEGER PRIMARY KEY, session TEXT NOT NULL, sequence INTEGER NOT NULL, "
    "bytes TEXT NOT NULL, chain BLOB NOT NULL, UNIQUE (session, sequence)) STRICT";
constexpr std::string_view texts_sql = "CREATE TABLE texts (sha256 TEXT PRIMARY KEY, text BLOB NOT NULL) STRICT";

// By name, as sqlite_schema orders them below.
constexpr std::array<Entry, 4> entries{{{"table", "rows", rows_sql},
                                        {"index", "sqlite_autoindex_rows_1", ""},
                                        {"index", "sqlite_autoindex_texts_1", ""},
                                        {"table", "texts", texts_sql}}};

constexpr std::int64_t application = 0x6f6e636c;  // "oncl"
constexpr std::int64_t version = 1;

Result<std::int64_t> number(Connection& connection, std::string_view sql) {
  Statement statement = TRY(connection.prepare(sql));
  const bool found = TRY(statement.step());
  return found ? statement.integer(0) : 0;
}

Failure refused(const Connection& connection, const char* what) {
  return fail("audit", connection.path(), what, "keep the file as evidence and name another database");
}

Status create_tables(Connection& connection) {
  TRY(connection.execute(rows_sql));
  TRY(connection.execute(texts_sql));
  TRY(connection.execute("PRAGMA application_id=1869505388"));
  return connection.execute("PRAGMA user_version=1");
}
static_assert(application == 1869505388);

}  // namespace

Status create_schema(Connection& connection) {
  TRY(connection.execute("BEGIN IMMEDIATE"));
  Status status;
  const Result<std::int64_t> present = number(connection, "SELECT count(*) FROM sqlite_schema");
  if (!present) status = Failure(present.error());
  if (present && *present == 0) status = create_tables(connection);
  if (status) status = connection.execute("COMMIT");
  if (!status) (void)connection.execute("ROLLBACK");
  return status;
}

Status check_schema(Connection& connection) {
  if (TRY(number(connection, "PRAGMA application_id")) != application)
    return refused(connection, "isn't an audit database of oncelatch");
  if (TRY(number(connection, "PRAGMA user_version")) != version)
    return refused(connection, "has a format version this program doesn't know");
  Statement statement = TRY(connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name"));
  for (const Entry& entry : entries) {
    const bool found = TRY(statement.step());
    if (!found || statement.text(0) != entry.type || statement.text(1) != entry.name || statement.text(2) != entry.sql)
      return refused(connection, "has other tables than an audit database");
  }
  if (TRY(statement.step())) return refused(connection, "has more in it than an audit database");
  return {};
}

}  // namespace oncelatch::audit
