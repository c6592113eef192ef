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

// The first digits are enough to recognise a digest; --json has it whole.
std::string digest(const Json& body, const char* key) {
  const std::string* text = json_string(body, key);
  return text == nullptr || text->empty() ? "-" : escape_for_display(text->substr(0, 12), 12) + "…";
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
  if (has_text(body, "shown_sha256")) text += ", card " + digest(body, "shown_sha256");
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

std::string session_start_text(const Json& body) {
  std::string text = field(body, "agent") + " in " + field(body, "workspace", long_text);
  if (const Json* program = json_object(body, "artifact"))
    text += "\n    program     " + field(*program, "path", long_text) + ", sha256 " + digest(*program, "sha256");
  if (const Json* policy = json_object(body, "policy"))
    text += "\n    policy      " +
            (has_text(*policy, "path") ? field(*policy, "path", long_text) : std::string("none: everything is asked")) +
            ", sha256 " + digest(*policy, "sha256");
  if (const Json* sandbox = json_object(body, "sandbox"))
    text += "\n    sandbox     tier " + field(*sandbox, "tier") + ", kernel " + field(*sandbox, "kernel");
  return text;
}

std::string self_test_text(const Json& body) {
  const Json* probes = json_array(body, "probes");
  if (probes == nullptr) return escape_for_display(dump_json(body), long_text);
  std::size_t refused = 0;
  for (const Json& probe : *probes) {
    const auto found = probe.is_object() ? probe.find("refused") : probe.end();
    if (found != probe.end() && found->is_boolean() && found->get<bool>()) ++refused;
  }
  return fmt::format("{} of {} attempts from inside were refused", refused, probes->size());
}

std::string session_end_text(const Json& body) {
  std::string text =
      fmt::format("exit {}: {}", json_integer(body, "exit").value_or(-1), field(body, "reason", long_text));
  if (has_text(body, "error")) text += "\n    error       " + field(body, "error", long_text);
  return text;
}

std::string plain_text(const Row& row) {
  if (row.kind == "session_start") return session_start_text(row.body);
  if (row.kind == "self_test") return self_test_text(row.body);
  if (row.kind == "session_end") return session_end_text(row.body);
  return escape_for_display(dump_json(row.body), long_text);
}

std::string plain_line(const Row& row) {
  return fmt::format("{}  {}  {}  {}\n", shown_time(row), short_session(row), escape_for_display(row.kind, 32),
                     plain_text(row));
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
