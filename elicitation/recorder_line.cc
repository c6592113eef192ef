#include "elicitation/recorder_line.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "elicitation/digest.h"
#include "elicitation/request_subject.h"

namespace oncelatch::elicitation {

namespace {

using policy::OptionKind;
using policy::PermissionOption;

constexpr JsonBounds bounds{};
constexpr std::size_t longest_title = 16 * 1024;
constexpr std::size_t most_options = 16;
constexpr std::size_t longest_id = 1024;
constexpr std::string_view method_name = "session/request_permission";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Most traffic is neither; telling so by a word is cheaper than by parsing.
bool may_matter(std::string_view line) {
  return has(line, method_name) || has(line, "outcome") || has(line, "error");
}

std::string_view stripped(std::string_view text) {
  static constexpr std::string_view white = " \t\n\r\v\f";
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

// JSON text of a non-empty string or an integer id.
std::optional<std::string> id_of(const Json& message) {
  const auto id = message.find("id");
  if (id == message.end()) return std::nullopt;
  const bool usable = id->is_number_integer() || (id->is_string() && !id->get_ref<const std::string&>().empty());
  if (!usable) return std::nullopt;
  std::string text = dump_json(*id);
  if (text.size() > longest_id) return std::nullopt;
  return text;
}

std::string text_of(const Json& object, std::string_view key) {
  const std::string* text = json_string(object, key);
  return text == nullptr ? std::string() : *text;
}

std::vector<PermissionOption> read_options(const Json& list) {
  std::vector<PermissionOption> options;
  for (const Json& entry : list) {
    const std::string id = text_of(entry, "optionId");
    const std::string* kind = json_string(entry, "kind");
    if (id.empty() || kind == nullptr) continue;
    options.push_back({Untrusted(id), Untrusted(text_of(entry, "name")), policy::option_kind(*kind)});
  }
  return options;
}

long count_kind(const std::vector<PermissionOption>& options, OptionKind kind) {
  return std::count_if(options.begin(), options.end(),
                       [kind](const PermissionOption& option) { return option.kind == kind; });
}

// "<toolCallId>-option-0": choices of a clarifying question, whatever their kinds say.
bool is_question_option(std::string_view id) {
  const std::size_t at = id.rfind("-option-");
  if (at == std::string_view::npos) return false;
  const std::string_view number = id.substr(at + std::string_view("-option-").size());
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_question(const std::vector<PermissionOption>& options) {
  const auto size = static_cast<long>(options.size());
  if (count_kind(options, OptionKind::allow_once) == size) return true;
  return std::any_of(options.begin(), options.end(),
                     [](const PermissionOption& option) { return is_question_option(option.id.bytes()); });
}

bool ids_distinct(const std::vector<PermissionOption>& options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (std::size_t j = i + 1; j < options.size(); ++j) {
      if (options[i].id == options[j].id) return false;
    }
  }
  return true;
}

// The screen shows the name of an option whose id it doesn't know: a name must not pass for a choice of another kind.
bool name_imitates_another(const PermissionOption& option) {
  const RowLabel* label = find_any_label(stripped(option.name.bytes()));
  return label != nullptr && label->kind != option.kind;
}

std::string why_only_terminal(const std::vector<PermissionOption>& options) {
  const long allow = count_kind(options, OptionKind::allow_once);
  const long reject = count_kind(options, OptionKind::reject_once);
  if (allow > 1 || reject > 1) return "the request offers two choices of one kind";
  if (allow == 0) return "the request has no one-time allow choice";
  if (reject == 0) return "the request has no one-time reject choice";
  if (!ids_distinct(options)) return "two choices of the request have the same id";
  if (std::any_of(options.begin(), options.end(), name_imitates_another))
    return "a choice is named like another kind's";
  return {};
}

RecorderEvent read_request(const Json& message, Direction direction, std::string_view line) {
  const std::optional<std::string> id = id_of(message);
  const Json* params = json_object(message, "params");
  const Json* call = params == nullptr ? nullptr : json_object(*params, "toolCall");
  const Json* list = params == nullptr ? nullptr : json_array(*params, "options");
  if (!id || call == nullptr || list == nullptr || list->size() > most_options) return {};
  PromptRequest prompt;
  prompt.direction = direction;
  prompt.id = *id;
  prompt.request.tool_call_id = Untrusted(text_of(*call, "toolCallId"));
  prompt.request.title = Untrusted(std::string(stripped(text_of(*call, "title"))));
  prompt.request.options = read_options(*list);
  if (prompt.request.tool_call_id.empty() || prompt.request.title.empty() || prompt.request.options.empty()) return {};
  prompt.line_sha256 = digest_hex(line);
  prompt.request.session_id = Untrusted(text_of(*params, "sessionId"));
  prompt.question = is_question(prompt.request.options);
  prompt.only_terminal = prompt.question ? "a question, not an approval" : why_only_terminal(prompt.request.options);
  prompt.call = read_subject(*params, *call, &prompt.request);
  if (prompt.only_terminal.empty() && prompt.call.source.size() > longest_title) {
    prompt.only_terminal = "the request is too long to be compared with the screen";
  }
  if (prompt.only_terminal.empty()) prompt.only_terminal = prompt.call.unshowable;
  return prompt;
}

RecorderEvent read_answer(const Json& message, Direction direction) {
  const std::optional<std::string> id = id_of(message);
  if (!id) return {};
  PromptAnswer answer;
  answer.direction = direction;
  answer.id = *id;
  if (json_object(message, "error") != nullptr) {
    answer.kind = AnswerKind::error;
    return answer;
  }
  const Json* result = json_object(message, "result");
  const Json* outcome = result == nullptr ? nullptr : json_object(*result, "outcome");
  if (outcome == nullptr) return {};
  answer.option_id = Untrusted(text_of(*outcome, "optionId"));
  if (text_of(*outcome, "outcome") == "cancelled") {
    answer.kind = AnswerKind::cancelled;
  } else if (answer.option_id.empty()) {
    return {};
  }
  return answer;
}

std::optional<Direction> direction_of(const Json& record) {
  const std::string text = text_of(record, "dir");
  if (text == "in") return Direction::in;
  if (text == "out") return Direction::out;
  return std::nullopt;
}

RecorderEvent read_message(const Json& message, Direction direction, std::string_view line) {
  if (!message.is_object()) return {};
  const bool is_call = message.contains("method");
  const bool is_reply = message.contains("result") || message.contains("error");
  if (is_call == is_reply) return {};
  if (is_reply) return read_answer(message, direction);
  const std::string* method = json_string(message, "method");
  if (method == nullptr || *method != method_name) return {};
  return read_request(message, direction, line);
}

}  // namespace

RecorderEvent read_recorder_line(std::string_view line) {
  line = stripped(line);
  if (line.empty() || !may_matter(line)) return {};
  const Result<Json> record = parse_json(line, bounds, "recorder line");
  if (!record) return UnreadableLine{};
  if (!record->is_object()) return {};
  const std::optional<Direction> direction = direction_of(*record);
  const auto message = record->find("msg");
  if (!direction || message == record->end()) return {};
  if (!message->is_string()) return read_message(*message, *direction, line);
  const Result<Json> inner = parse_json(message->get_ref<const std::string&>(), bounds, "recorder message");
  return inner ? read_message(*inner, *direction, line) : RecorderEvent{UnreadableLine{}};
}

}  // namespace oncelatch::elicitation
