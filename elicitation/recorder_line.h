// One line of Kiro's recorder -> a permission request, an answer to one, or nothing.
//
//   RecorderEvent event = read_recorder_line(line);
//   if (const auto* prompt = std::get_if<PromptRequest>(&event)) ...
//
// Both wrappers (msg a string or an object), both directions (documents say out=request, real files in=request), string
// and integer ids. Ownership: values. Threads: pure. Failure: whatever isn't wholly as expected is nothing, or a
// request for the terminal only. Units: a line is at most 1 MiB. After fork: allocates. Source: contracts/kiro-tui.md
// 2; fixtures K01 to K26.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "elicitation/call_text.h"
#include "policy/request.h"

namespace oncelatch::elicitation {

enum class Direction { in, out };

struct PromptRequest {
  Direction direction = Direction::in;
  std::string id;  // JSON text, so that "7" and 7 differ
  std::string line_sha256;
  policy::PermissionRequest request;
  CallText call;
  std::string only_terminal;  // why no key may ever be sent for it; empty when one may
  bool question = false;      // not an approval at all
};

enum class AnswerKind { selected, cancelled, error };

struct PromptAnswer {
  Direction direction = Direction::out;
  std::string id;
  AnswerKind kind = AnswerKind::selected;
  Untrusted option_id;  // selected
};

// A line about a prompt that can't be read (cut, glued, too deep): what it asked stays unknown.
struct UnreadableLine {};

using RecorderEvent = std::variant<std::monostate, PromptRequest, PromptAnswer, UnreadableLine>;
[[nodiscard]] RecorderEvent read_recorder_line(std::string_view line);

// An answer goes the other way than its request; V3's ids collide with the client's own.
[[nodiscard]] inline bool answers(const PromptAnswer& answer, const PromptRequest& request) {
  return answer.direction != request.direction && answer.id == request.id;
}

}  // namespace oncelatch::elicitation
