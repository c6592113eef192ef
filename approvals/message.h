// The broker's protocol: bounded lines, requests and replies, parsed strictly (unknown keys and other types are
// errors).
//
//   LineReader lines(longest_request);
//   lines.add(bytes);
//   while (std::optional<std::string> line = lines.next()) Result<Request> request = parse_request(*line);
//   if (lines.overflowed()) ...   // a line beyond the bound: drop the peer
//
// Ownership: values. Threads: values. Failure: Error; text of the peer is escaped in it. Units: bytes. After fork:
// allocates.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "policy/recorder.h"

namespace oncelatch::approvals {

constexpr std::size_t longest_request = std::size_t{64} << 10;
constexpr std::size_t longest_reply = std::size_t{4} << 20;
// Cards beyond are not sent whole, so nobody can answer them from here.
constexpr std::size_t longest_card = std::size_t{1} << 20;

class LineReader {
 public:
  explicit LineReader(std::size_t most) : most_(most) {}
  // Takes no more once it overflowed.
  void add(std::string_view bytes);
  // The next whole line without its newline.
  std::optional<std::string> next();
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  std::size_t most_;
  std::string bytes_;
  std::size_t searched_ = 0;
  bool overflowed_ = false;
};

struct Request {
  enum class Op { list, answer };
  Op op = Op::list;
  std::string local_id;
  policy::Verdict verdict = policy::Verdict::decline;
  std::string shown_sha256;
};
[[nodiscard]] Result<Request> parse_request(std::string_view line);

// Each ends with its newline.
[[nodiscard]] std::string list_line();
[[nodiscard]] std::string answer_line(const Request& request);
[[nodiscard]] std::string queued_line();
[[nodiscard]] std::string error_line(const std::string& what, const std::string& try_next);

struct ListReply {
  std::string session;
  std::vector<Json> cards;  // each checked by check_card()
};
[[nodiscard]] Result<ListReply> parse_list_reply(std::string_view line);
// Success means "queued"; the broker's refusal becomes the Error.
[[nodiscard]] Status parse_answer_reply(std::string_view line);

// Every field of a Card with its type, and "digest" is the digest of the others.
[[nodiscard]] Status check_card(const Json& card);
// SHA-256 hex of the card's canonical JSON without "digest".
[[nodiscard]] std::string card_digest(const Json& card);

// [a-z0-9], 1 to 32 bytes.
[[nodiscard]] bool valid_local_id(std::string_view id);
// [a-z0-9-], 1 to 64 bytes.
[[nodiscard]] bool valid_session_id(std::string_view id);
// Its last four characters.
[[nodiscard]] std::string short_session(const std::string& session);

// Makes text harmless that may be escaped already: like escape_for_display, but a backslash stays one.
[[nodiscard]] std::string escape_again(std::string_view text);

}  // namespace oncelatch::approvals
