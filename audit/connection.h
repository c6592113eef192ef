// One SQLite connection with every protective setting made and read back, and its statements.
//
//   Connection connection = TRY(Connection::open(path, Connection::Mode::write));
//   Statement insert = TRY(connection.prepare("INSERT INTO texts VALUES (?, ?)"));
//   TRY(insert.bind_text(1, digest));
//   while (TRY(insert.step())) ...
//
// Ownership: Connection owns the handle; its statements must be destroyed first (SQLite keeps the handle until then).
// Threads: one. Failure: stage "audit", the file, SQLite's own words, errno where it has one. A file that is a link,
// whose schema isn't exactly ours (a trigger or view included), or that belongs to somebody else (write) is refused.
// The file is never opened by hand once SQLite may have it: closing such a descriptor would drop SQLite's POSIX locks.
// After fork: don't touch it in the child.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace oncelatch::audit {

class Statement {
 public:
  Status bind_text(int index, std::string_view text);
  Status bind_blob(int index, std::string_view bytes);
  Status bind_integer(int index, std::int64_t value);
  // True: a row is ready; false: done.
  Result<bool> step();
  Status reset();

  // Views stay valid until the next step. A value of another type reads as empty or 0.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::string_view blob(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, std::string path) : statement_(statement), path_(std::move(path)) {}
  [[nodiscard]] Status check(int code, const char* doing) const;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

class Connection {
 public:
  enum class Mode { write, read };
  [[nodiscard]] static Result<Connection> open(const std::string& path, Mode mode);

  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  Status execute(std::string_view sql);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Connection(sqlite3* database, std::string path) : database_(database), path_(std::move(path)) {}
  Status configure(Mode mode);
  Status switch_to_wal();
  Status set_pragma(const char* name, const char* value);
  Result<std::string> read_pragma(const char* name);

  std::unique_ptr<sqlite3, Close> database_;
  std::string path_;
};

}  // namespace oncelatch::audit
