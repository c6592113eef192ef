#include "approvals/message.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "base/untrusted.h"

namespace oncelatch::approvals {
namespace {

bool plain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
}
bool plain_or_dash(char letter) {
  return plain(letter) || letter == '-';
}

bool hex_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Failure bad_message(const char* what) {
  return fail("approvals", "message", what);
}

bool is_true(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_boolean() && found->get<bool>();
}

Result<Request> parse_answer(const Json& message) {
  const std::string* id = json_string(message, "id");
  const std::string* verdict = json_string(message, "verdict");
  const std::string* shown = json_string(message, "shown_sha256");
  if (message.size() != 4 || id == nullptr || verdict == nullptr || shown == nullptr)
    return bad_message("an answer has op, id, verdict and shown_sha256, nothing else");
  if (!valid_local_id(*id)) return bad_message("the id isn't 1 to 32 of a-z and 0-9");
  if (!hex_digest(*shown)) return bad_message("shown_sha256 isn't 64 lower-case hex digits");
  if (*verdict != "accept" && *verdict != "decline") return bad_message("the verdict is neither accept nor decline");
  return Request{Request::Op::answer, *id, *verdict == "accept" ? policy::Verdict::accept : policy::Verdict::decline,
                 *shown};
}

// An object with "ok": true, or the peer's error.
Result<Json> parse_reply(std::string_view line) {
  Json reply = TRY(parse_json(line, JsonBounds{longest_reply, 16, 100'000}, "approvals reply"));
  if (!reply.is_object()) return bad_message("the reply isn't an object");
  if (is_true(reply, "ok")) return reply;
  const std::string* what = json_string(reply, "error");
  const std::string* next = json_string(reply, "try");
  if (what == nullptr) return bad_message("the reply says neither ok nor what is wrong");
  return fail("approvals", "session", escape_for_display(*what, 500),
              next == nullptr ? std::string() : escape_for_display(*next, 500));
}

}  // namespace

void LineReader::add(std::string_view bytes) {
  if (!overflowed_) bytes_.append(bytes);
}

std::optional<std::string> LineReader::next() {
  if (overflowed_) return std::nullopt;
  const std::size_t end = bytes_.find('\n', searched_);
  const std::size_t length = end == std::string::npos ? bytes_.size() : end;
  if (length > most_) {
    overflowed_ = true;
    bytes_.clear();
    return std::nullopt;
  }
  if (end == std::string::npos) {
    searched_ = bytes_.size();
    return std::nullopt;
  }
  std::string line = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

Result<Request> parse_request(std::string_view line) {
  const Json message = TRY(parse_json(line, JsonBounds{longest_request, 4, 64}, "approvals request"));
  const std::string* op = json_string(message, "op");
  if (op == nullptr) return bad_message("a request is an object with op");
  if (*op == "answer") return parse_answer(message);
  if (*op != "list") return bad_message("op is neither list nor answer");
  if (message.size() != 1) return bad_message("a list request has op, nothing else");
  return Request();
}

std::string list_line() {
  return "{\"op\":\"list\"}\n";
}

std::string answer_line(const Request& request) {
  const Json message{{"op", "answer"},
                     {"id", request.local_id},
                     {"verdict", request.verdict == policy::Verdict::accept ? "accept" : "decline"},
                     {"shown_sha256", request.shown_sha256}};
  return dump_json(message) + "\n";
}

std::string queued_line() {
  return "{\"ok\":true,\"state\":\"queued\"}\n";
}

std::string error_line(const std::string& what, const std::string& try_next) {
  const Json message{{"ok", false}, {"error", what}, {"try", try_next}};
  return dump_json(message) + "\n";
}

Result<ListReply> parse_list_reply(std::string_view line) {
  const Json reply = TRY(parse_reply(line));
  const std::string* session = json_string(reply, "session");
  const Json* waiting = json_array(reply, "waiting");
  if (session == nullptr || !valid_session_id(*session) || waiting == nullptr)
    return bad_message("the list has no session or no cards");
  ListReply list;
  list.session = *session;
  for (const Json& card : *waiting) {
    TRY(check_card(card));
    list.cards.push_back(card);
  }
  return list;
}

Status parse_answer_reply(std::string_view line) {
  const Json reply = TRY(parse_reply(line));
  const std::string* state = json_string(reply, "state");
  if (state == nullptr || *state != "queued") return bad_message("the answer wasn't queued");
  return {};
}

Status check_card(const Json& card) {
  constexpr std::array<const char*, 7> texts{"agent", "capability", "title", "subject", "working_directory",
                                             "since", "digest"};
  constexpr std::array<const char*, 2> lists{"members", "reasons"};
  const std::string* id = json_string(card, "local_id");
  if (id == nullptr || !valid_local_id(*id) || card.size() != texts.size() + lists.size() + 1)
    return bad_message("a card has other fields than it must");
  for (const char* key : texts)
    if (json_string(card, key) == nullptr) return bad_message("a card lacks a text");
  for (const char* key : lists) {
    const Json* items = json_array(card, key);
    if (items == nullptr ||
        !std::all_of(items->begin(), items->end(), [](const Json& item) { return item.is_string(); }))
      return bad_message("a card lacks a list of texts");
  }
  if (*json_string(card, "digest") != card_digest(card)) return bad_message("a card doesn't have the digest it names");
  return {};
}

std::string card_digest(const Json& card) {
  Json fields = card;
  if (fields.is_object()) fields.erase("digest");
  const std::string bytes = dump_json(fields);
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  std::array<char, crypto_hash_sha256_BYTES * 2 + 1> text{};
  return sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
}

bool valid_local_id(std::string_view id) {
  return !id.empty() && id.size() <= 32 && std::all_of(id.begin(), id.end(), plain);
}

bool valid_session_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), plain_or_dash);
}

std::string short_session(const std::string& session) {
  return session.size() <= 4 ? session : session.substr(session.size() - 4);
}

std::string escape_again(std::string_view text) {
  std::string result;
  for (std::size_t start = 0;;) {
    const std::size_t end = std::min(text.find('\\', start), text.size());
    result += escape_for_display(text.substr(start, end - start), text.size());
    if (end == text.size()) return result;
    result += '\\';
    start = end + 1;
  }
}

}  // namespace oncelatch::approvals
