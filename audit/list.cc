#include <algorithm>
#include <limits>

#include "audit/connection.h"
#include "audit/log.h"
#include "audit/row_bytes.h"
#include "audit/schema.h"

namespace oncelatch::audit {
namespace {

// NOT INDEXED: what is listed is what verify_rows() reads, even when an index was tampered with.
constexpr std::string_view newest_first =
    "SELECT session, sequence, bytes FROM rows NOT INDEXED WHERE ?1 = '' OR session = ?1 ORDER BY position DESC LIMIT "
    "?2";

// A row that hasn't its form is shown as kind "unreadable" with its bytes; it must not hide the others.
Row read_row(const Statement& statement) {
  Row row;
  row.session = statement.text(0);
  row.sequence = statement.integer(1);
  const std::string_view bytes = statement.text(2);
  const std::optional<RowParts> parts = split_row(bytes, row.session, row.sequence);
  Result<Json> body = fail("audit", "row", "has no canonical form");
  if (parts) body = parse_json(parts->body, JsonBounds{most_row_bytes, 64, 1'000'000}, "audit row");
  if (!body) {
    row.kind = "unreadable";
    row.body = Json(std::string(bytes.substr(0, most_row_bytes)));
    return row;
  }
  row.time = parts->time;
  row.kind = parts->kind;
  row.body = std::move(*body);
  return row;
}

}  // namespace

Result<std::vector<Row>> list_rows(const std::string& path, const ListFilter& filter) {
  Connection connection = TRY(Connection::open(path, Connection::Mode::read));
  TRY(check_schema(connection));
  Statement statement = TRY(connection.prepare(newest_first));
  TRY(statement.bind_text(1, filter.session));
  const std::size_t most = std::min<std::size_t>(filter.most, std::numeric_limits<std::int32_t>::max());
  TRY(statement.bind_integer(2, static_cast<std::int64_t>(most)));
  std::vector<Row> rows;
  while (TRY(statement.step())) rows.push_back(read_row(statement));
  std::reverse(rows.begin(), rows.end());
  return rows;
}

}  // namespace oncelatch::audit
