#include "audit/print.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "base/untrusted.h"

namespace oncelatch::audit {
namespace {

constexpr std::size_t long_text = 400;
constexpr std::size_t short_text = 200;
constexpr std::size_t most_reasons = 8;

std::string field(const Json& body, const char* key, std::size_t most = short_text) {
  const std::string* text = json_string(body, key);
  return text == nullptr ? "-" : escape_for_display(*text, most);
}

bool has_text(const Json& body, const char* key) {
  const std::string* text = json_string(body, key);
  return text != nullptr && !text->empty();
}

std::string cut_note(const Json& body, const char* key) {
  const Json* cut = json_object(body, key);
  if (cut == nullptr) return {};
  const std::int64_t bytes = json_integer(*cut, "bytes").value_or(-1);
  return fmt::format(" [recorded up to 64 KiB of {} bytes, sha256 {}]", bytes, field(*cut, "sha256", 64));
}

// Whole seconds; rows of a tampered database may hold anything.
std::string shown_time(const Row& row) {
  return row.time.size() == 30 ? escape_for_display(std::string_view(row.time).substr(0, 19), 32) + "Z"
                               : escape_for_display(row.time, 32);
}

std::string short_session(const Row& row) {
  const std::string_view session = row.session;
  return escape_for_display(session.size() > 4 ? session.substr(session.size() - 4) : session, 4);
}

std::string local_id(const Row& row) {
  const Json* prompt = json_object(row.body, "prompt");
  const std::string* id = prompt == nullptr ? nullptr : json_string(*prompt, "local_id");
  return id == nullptr ? std::string() : *id;
}

std::string reason_text(const Json& reason) {
  std::string text = has_text(reason, "rule") ? "rule " + field(reason, "rule") : std::string("default or floor");
  text += " (" + field(reason, "effect") + ")";
  if (has_text(reason, "text")) text += ": " + field(reason, "text");
  if (has_text(reason, "member")) text += " [" + field(reason, "member") + "]";
  return text;
}

std::string request_lines(const Json& body) {
  std::string text =
      fmt::format("    subject     {}{}\n", field(body, "subject", long_text), cut_note(body, "subject_cut"));
  const auto whole = body.find("subject_is_whole");
  if (whole != body.end() && whole->is_boolean() && !whole->get<bool>())
    text += "    note        the subject isn't known whole\n";
  return text;
}

std::string decision_lines(const Json& body) {
  std::string text = fmt::format("    decision    {} by {}", field(body, "effect"), field(body, "decider"));
  if (const Json* floors = json_array(body, "floor"))
    for (const Json& floor : *floors) text += "; floor " + escape_for_display(dump_json(floor), short_text);
  text += "\n";
  const Json* reasons = json_array(body, "reasons");
  if (reasons == nullptr) return text;
  std::size_t count = 0;
  for (const Json& reason : *reasons) {
    if (++count <= most_reasons) text += fmt::format("                {}\n", reason_text(reason));
  }
  if (count > most_reasons) text += fmt::format("                …(+{})\n", count - most_reasons);
  return text;
}

std::string delivering_lines(const Json& body) {
  std::string text = fmt::format("    delivering  {} by {}", field(body, "verdict"), field(body, "decider"));
  if (has_text(body, "shown_sha256")) text += ", card " + field(body, "shown_sha256", 12);
  return text + "\n";
}

std::string outcome_lines(const Json& body) {
  std::string text = "    outcome     " + field(body, "outcome");
  if (has_text(body, "option_id")) text += ", option " + field(body, "option_id");
  if (has_text(body, "detail")) text += ": " + field(body, "detail", long_text);
  return text + "\n";
}

std::string prompt_lines(const Row& row) {
  if (row.kind == "request") return request_lines(row.body);
  if (row.kind == "decision") return decision_lines(row.body);
  if (row.kind == "delivering") return delivering_lines(row.body);
  if (row.kind == "outcome") return outcome_lines(row.body);
  return fmt::format("    {}  {}\n", escape_for_display(row.kind, 32),
                     escape_for_display(dump_json(row.body), short_text));
}

std::string prompt_head(const Row& row, const std::string& local) {
  std::string asked = row.kind == "request" ? field(row.body, "title", long_text) + cut_note(row.body, "title_cut")
                                            : std::string("(its request isn't among these rows)");
  return fmt::format("{}  {}  {}  {}  {}\n", shown_time(row), short_session(row), escape_for_display(local, 16),
                     field(row.body, "capability"), asked);
}

std::string plain_line(const Row& row) {
  return fmt::format("{}  {}  {}  {}\n", shown_time(row), short_session(row), escape_for_display(row.kind, 32),
                     escape_for_display(dump_json(row.body), long_text));
}

}  // namespace

std::string format_rows(const std::vector<Row>& rows) {
  std::vector<std::string> blocks;
  std::map<std::pair<std::string, std::string>, std::size_t> block_of;
  for (const Row& row : rows) {
    const std::string local = local_id(row);
    if (local.empty()) {
      blocks.push_back(plain_line(row));
      continue;
    }
    const auto found = block_of.emplace(std::pair(row.session, local), blocks.size());
    if (found.second) blocks.push_back(prompt_head(row, local));
    blocks[found.first->second] += prompt_lines(row);
  }
  std::string text;
  for (const std::string& block : blocks) text += block;
  return text;
}

std::string rows_as_json_lines(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    const Json line{{"session", row.session},
                    {"sequence", row.sequence},
                    {"time", row.time},
                    {"kind", row.kind},
                    {"body", row.body}};
    text += line.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

}  // namespace oncelatch::audit
