// The record: one SQLite database (WAL, synchronous=FULL, trusted_schema=OFF) of redacted, canonical JSON rows in a
// hash chain.
//
//   audit::Log log = TRY(audit::Log::open(path, redactor, clock));
//   TRY(log.begin(session_id, Json{{"agent", "kiro"}}));
//   TRY(log.append("decision", body));        // durable when it returns
//   TRY(log.end(Json{{"exit_code", 0}}));     // the required session_end
//
// Ownership: Log owns the connection; the redactor and clock outlive it. Threads: one thread. Failure: an append that
// isn't durable, or would hold a credential, is an error and breaks the log: every later append fails, too, and no
// verdict may be delivered. After fork: don't touch it in the child. Chain (docs/AUDIT_FORMAT.md): leaf_n =
// SHA-256(0x00 || bytes of row n), chain_n = BLAKE2b-256(key "oncelatch.audit.chain.v1", chain_{n-1} || le64(n) ||
// leaf_n), each session with its own chain, chain_0 over the session id.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "redact/redactor.h"

namespace oncelatch::audit {

// The durable row of one event. `body` is what was stored: redacted, canonical.
struct Row {
  std::string session;
  std::int64_t sequence = 0;  // from 1, without gaps within a session
  std::string time;           // RFC 3339, nanoseconds
  std::string kind;           // session_start self_test request decision delivering outcome error …
  Json body;
};

class Log {
 public:
  // Creates the file (0600) and its 0700 parent if missing; refuses a database that is a link, foreign-owned or
  // readable by others.
  [[nodiscard]] static Result<Log> open(const std::string& path, const redact::Redactor& redactor, const Clock& clock);
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;
  ~Log();

  Status begin(const std::string& session, const Json& body);
  Status append(std::string_view kind, const Json& body);
  Status end(const Json& body);
  // Stores text under its SHA-256 (the policy's text); returns the digest.
  Result<std::string> store_text(std::string_view text);

 private:
  struct State;
  explicit Log(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct ListFilter {
  std::string session;      // empty: all
  std::size_t most = 1000;  // the newest ones
};

// Reads rows oldest first from a database opened read-only; works while a session writes. A row
// that hasn't its form comes as kind "unreadable" with its bytes as a string.
[[nodiscard]] Result<std::vector<Row>> list_rows(const std::string& path, const ListFilter& filter);

// Recomputes every session's chain: the first row that doesn't fit is named ("altered at SESSION/SEQUENCE"); a session
// without session_end is reported as incomplete by its id, which is no error while it runs.
struct VerifyReport {
  std::int64_t rows = 0;
  std::vector<std::string> incomplete_sessions;
  std::string altered_at;  // empty: every chain fits
};
[[nodiscard]] Result<VerifyReport> verify_rows(const std::string& path);

}  // namespace oncelatch::audit
