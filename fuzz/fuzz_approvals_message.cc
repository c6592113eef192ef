// The broker's and the client's side of the approvals protocol: framing in pieces, requests, replies, cards.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "approvals/client.h"
#include "approvals/message.h"

namespace {

using namespace oncelatch;
using namespace oncelatch::approvals;

void require(bool held) {
  if (!held) std::abort();
}

// What was accepted survives its own wire form.
void check_request(std::string_view line) {
  const Result<Request> request = parse_request(line);
  if (!request) return;
  require(line.size() <= longest_request);
  if (request->op == Request::Op::list) return;
  const std::string again = answer_line(*request);
  const Result<Request> same = parse_request(std::string_view(again).substr(0, again.size() - 1));
  require(same && same->local_id == request->local_id && same->verdict == request->verdict &&
          same->shown_sha256 == request->shown_sha256);
}

void check_printable(const std::string& text) {
  for (const char letter : text) {
    const auto octet = static_cast<unsigned char>(letter);
    require(letter == '\n' || (octet >= 0x20 && octet != 0x7f));
  }
}

void check_reply(std::string_view line) {
  if (const Status status = parse_answer_reply(line); !status) check_printable(status.error().what);
  const Result<ListReply> list = parse_list_reply(line);
  if (!list) return;
  for (const Json& card : list->cards) check_printable(describe(Waiting{"k3f9-p1", list->session, card}));
}

// The same lines come out however the bytes are cut.
void check_framing(std::string_view bytes) {
  LineReader whole(256);
  LineReader pieces(256);
  whole.add(bytes);
  std::size_t step = bytes.empty() ? 1 : 1 + static_cast<unsigned char>(bytes.front()) % 7;
  for (std::size_t at = 0; at < bytes.size() && !pieces.overflowed(); at += step) {
    pieces.add(bytes.substr(at, step));
    while (const std::optional<std::string> line = pieces.next()) require(line == whole.next() && line->size() <= 256);
  }
  require(!whole.next());
  require(pieces.overflowed() == whole.overflowed());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_framing(bytes);
  check_request(bytes);
  check_reply(bytes);
  check_printable(escape_again(bytes));
  return 0;
}
