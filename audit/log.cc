#include "audit/log.h"

#include <fmt/format.h>

#include <utility>

#include "audit/chain.h"
#include "audit/connection.h"
#include "audit/row_bytes.h"
#include "audit/schema.h"

namespace oncelatch::audit {
namespace {

std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

struct Log::State {
  Connection connection;
  Statement insert_row;
  Statement insert_text;
  const redact::Redactor* redactor;
  const Clock* clock;
  std::string session;  // empty until begin()
  std::int64_t sequence = 0;
  Digest chain{};
  bool ended = false;
  bool broken = false;

  State(Connection opened, Statement row, Statement text, const redact::Redactor* with, const Clock* time)
      : connection(std::move(opened)),
        insert_row(std::move(row)),
        insert_text(std::move(text)),
        redactor(with),
        clock(time) {}

  Status usable() const {
    if (!broken) return {};
    return fail("audit", connection.path(), "an earlier row could not be written, so nothing more is recorded",
                "end the session; answer the agent in its terminal");
  }

  // Runs `statement` in its own transaction; success means durable (WAL, synchronous=FULL).
  Status commit(Statement& statement) {
    TRY(connection.execute("BEGIN IMMEDIATE"));
    Status status;
    if (Result<bool> stepped = statement.step(); !stepped) status = Failure(stepped.error());
    (void)statement.reset();  // repeats the step's error
    if (status) status = connection.execute("COMMIT");
    if (!status) (void)connection.execute("ROLLBACK");
    return status;
  }

  // The last gate: whatever redaction missed (a number, an odd escape) doesn't reach the disk.
  Status gate(std::string_view bytes, std::size_t most) const {
    if (bytes.size() > most)
      return fail("audit", connection.path(), fmt::format("a record is larger than {} bytes", most));
    if (redactor->contains_secret(bytes))
      return fail("audit", connection.path(), "a record would hold a credential, so it is refused",
                  "answer in the terminal; nothing was written");
    return {};
  }

  Status write_row(std::string_view kind, const Json& body) {
    const std::int64_t next = sequence + 1;
    const Row row{session, next, rfc3339(clock->wall()), std::string(kind), redactor->value(body)};
    const std::string bytes = row_bytes(row);
    TRY(gate(bytes, most_row_bytes));
    if (!split_row(bytes, session, next)) return fail("audit", std::string(kind), "a record has no canonical form");
    const Digest link = next_link(chain, static_cast<std::uint64_t>(next), leaf_hash(bytes));
    TRY(insert_row.bind_text(1, session));
    TRY(insert_row.bind_integer(2, next));
    TRY(insert_row.bind_text(3, bytes));
    TRY(insert_row.bind_blob(4, as_text(link)));
    TRY(commit(insert_row));
    sequence = next;
    chain = link;
    return {};
  }

  Status write_text(std::string_view text, const std::string& digest) {
    TRY(gate(text, most_text_bytes));
    TRY(insert_text.bind_text(1, digest));
    TRY(insert_text.bind_blob(2, text));
    return commit(insert_text);
  }

  Status remember(Status status) {
    if (!status) broken = true;
    return status;
  }
};

Log::Log(std::unique_ptr<State> state) : state_(std::move(state)) {}
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;
Log::~Log() = default;

Result<Log> Log::open(const std::string& path, const redact::Redactor& redactor, const Clock& clock) {
  Connection connection = TRY(Connection::open(path, Connection::Mode::write));
  TRY(create_schema(connection));
  TRY(check_schema(connection));
  Statement row = TRY(connection.prepare("INSERT INTO rows (session, sequence, bytes, chain) VALUES (?, ?, ?, ?)"));
  Statement text = TRY(connection.prepare("INSERT INTO texts (sha256, text) VALUES (?, ?) ON CONFLICT DO NOTHING"));
  return Log(std::make_unique<State>(std::move(connection), std::move(row), std::move(text), &redactor, &clock));
}

Status Log::begin(const std::string& session, const Json& body) {
  TRY(state_->usable());
  if (!state_->session.empty()) return fail("audit", state_->session, "the session was begun before");
  if (!valid_session_id(session)) return fail("audit", "session id", "isn't 1 to 64 of a-z, 0-9 and '-'");
  state_->session = session;
  state_->chain = first_link(session);
  return state_->remember(state_->write_row("session_start", body));
}

Status Log::append(std::string_view kind, const Json& body) {
  TRY(state_->usable());
  if (state_->session.empty() || state_->ended) return fail("audit", state_->connection.path(), "no session is open");
  if (!valid_kind(kind) || kind == "session_start" || kind == "session_end")
    return fail("audit", state_->session, "isn't a kind of row that can be appended");
  return state_->remember(state_->write_row(kind, body));
}

Status Log::end(const Json& body) {
  TRY(state_->usable());
  if (state_->session.empty() || state_->ended) return fail("audit", state_->connection.path(), "no session is open");
  TRY(state_->remember(state_->write_row("session_end", body)));
  state_->ended = true;
  return {};
}

Result<std::string> Log::store_text(std::string_view text) {
  TRY(state_->usable());
  const std::string digest = sha256_hex(text);
  TRY(state_->remember(state_->write_text(text, digest)));
  return digest;
}

}  // namespace oncelatch::audit
