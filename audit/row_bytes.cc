#include "audit/row_bytes.h"

#include <fmt/format.h>

#include <algorithm>

namespace oncelatch::audit {
namespace {

constexpr std::string_view head = R"({"body":)";
constexpr std::string_view kind_key = R"(,"kind":")";
constexpr std::string_view tail = R"("})";
constexpr std::size_t time_length = 30;  // 2026-01-31T23:59:59.123456789Z

std::string middle(std::string_view session, std::int64_t sequence) {
  return fmt::format(R"(","sequence":{},"session":"{}","time":")", sequence, session);
}

bool lower(char letter) {
  return letter >= 'a' && letter <= 'z';
}

bool session_letter(char letter) {
  return lower(letter) || (letter >= '0' && letter <= '9') || letter == '-';
}

bool kind_letter(char letter) {
  return lower(letter) || letter == '_';
}

bool ends_with_and_cut(std::string_view* text, std::string_view end) {
  if (text->size() < end.size() || text->substr(text->size() - end.size()) != end) return false;
  text->remove_suffix(end.size());
  return true;
}

}  // namespace

bool valid_session_id(std::string_view session) {
  return !session.empty() && session.size() <= 64 && std::all_of(session.begin(), session.end(), session_letter);
}

bool valid_kind(std::string_view kind) {
  return !kind.empty() && kind.size() <= 32 && std::all_of(kind.begin(), kind.end(), kind_letter);
}

std::string row_bytes(const Row& row) {
  return fmt::format("{}{}{}{}{}{}{}", head, dump_json(row.body), kind_key, row.kind, middle(row.session, row.sequence),
                     row.time, tail);
}

std::optional<RowParts> split_row(std::string_view bytes, std::string_view session, std::int64_t sequence) {
  if (!valid_session_id(session) || sequence < 1 || bytes.substr(0, head.size()) != head) return std::nullopt;
  RowParts parts;
  std::string_view rest = bytes.substr(head.size());
  if (!ends_with_and_cut(&rest, tail) || rest.size() < time_length) return std::nullopt;
  parts.time = rest.substr(rest.size() - time_length);
  rest.remove_suffix(time_length);
  if (!ends_with_and_cut(&rest, middle(session, sequence))) return std::nullopt;
  const std::size_t quote = rest.rfind('"');
  if (quote == std::string_view::npos) return std::nullopt;
  parts.kind = rest.substr(quote + 1);
  rest = rest.substr(0, quote + 1);
  if (!valid_kind(parts.kind) || !ends_with_and_cut(&rest, kind_key) || rest.empty()) return std::nullopt;
  parts.body = rest;
  return parts;
}

}  // namespace oncelatch::audit
