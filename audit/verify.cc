#include <fmt/format.h>

#include <map>

#include "audit/chain.h"
#include "audit/connection.h"
#include "audit/log.h"
#include "audit/row_bytes.h"
#include "audit/schema.h"
#include "base/untrusted.h"

namespace oncelatch::audit {
namespace {

struct Head {
  std::int64_t sequence = 0;
  Digest chain{};
  bool ended = false;
  bool altered = false;
};

class Verifier {
 public:
  void take(std::string_view session, std::int64_t sequence, std::string_view bytes, std::string_view chain) {
    ++report_.rows;
    auto found = heads_.find(session);
    if (found == heads_.end()) {
      found = heads_.emplace(std::string(session), Head{}).first;
      found->second.chain = first_link(session);
    }
    Head& head = found->second;
    if (head.altered || fits(&head, session, sequence, bytes, chain)) return;
    head.altered = true;
    // A gap is named by the row that is missing.
    note(
        fmt::format("{}/{}", escape_for_display(session, 64), sequence > head.sequence ? head.sequence + 1 : sequence));
  }

  void note(std::string place) {
    if (report_.altered_at.empty()) report_.altered_at = std::move(place);
  }

  VerifyReport report() && {
    for (const auto& [session, head] : heads_)
      if (!head.ended && !head.altered) report_.incomplete_sessions.push_back(escape_for_display(session, 64));
    return std::move(report_);
  }

 private:
  static bool fits(Head* head, std::string_view session, std::int64_t sequence, std::string_view bytes,
                   std::string_view chain) {
    if (head->ended || sequence != head->sequence + 1) return false;
    const std::optional<RowParts> parts = split_row(bytes, session, sequence);
    if (!parts || (parts->kind == "session_start") != (sequence == 1)) return false;
    const Digest link = next_link(head->chain, static_cast<std::uint64_t>(sequence), leaf_hash(bytes));
    if (chain != std::string_view(reinterpret_cast<const char*>(link.data()), link.size())) return false;
    *head = Head{sequence, link, parts->kind == "session_end", false};
    return true;
  }

  VerifyReport report_;
  std::map<std::string, Head, std::less<>> heads_;
};

Status verify_texts(Connection& connection, Verifier* verifier) {
  Statement statement = TRY(connection.prepare("SELECT sha256, text FROM texts NOT INDEXED ORDER BY rowid"));
  while (TRY(statement.step())) {
    const std::string_view digest = statement.text(0);
    if (sha256_hex(statement.blob(1)) != digest) verifier->note("text " + escape_for_display(digest, 64));
  }
  return {};
}

}  // namespace

Result<VerifyReport> verify_rows(const std::string& path) {
  Connection connection = TRY(Connection::open(path, Connection::Mode::read));
  TRY(check_schema(connection));
  Verifier verifier;
  {
    // In the table's order, which is the order of writing; no index is trusted.
    Statement statement =
        TRY(connection.prepare("SELECT session, sequence, bytes, chain FROM rows NOT INDEXED ORDER BY position"));
    while (TRY(statement.step()))
      verifier.take(statement.text(0), statement.integer(1), statement.text(2), statement.blob(3));
  }
  TRY(verify_texts(connection, &verifier));
  return std::move(verifier).report();
}

}  // namespace oncelatch::audit
