#include "elicitation/request_subject.h"

#include <array>

namespace oncelatch::elicitation {

namespace {

using policy::Capability;
using policy::PermissionRequest;

struct ConsentName {
  std::string_view name;
  Capability capability;
};
constexpr std::array<ConsentName, 6> consent_names{{{"shell", Capability::shell},
                                                    {"fs_read", Capability::fs_read},
                                                    {"fs_write", Capability::fs_write},
                                                    {"web_fetch", Capability::web_fetch},
                                                    {"mcp", Capability::mcp},
                                                    {"subagent", Capability::subagent}}};

// V3 tools whose capability is known; a record that says otherwise isn't believed.
constexpr std::array<ConsentName, 4> tool_names{{{"run_command", Capability::shell},
                                                 {"fs_write", Capability::fs_write},
                                                 {"str_replace", Capability::fs_write},
                                                 {"delete_file", Capability::fs_write}}};

template <std::size_t N>
Capability look_up(const std::array<ConsentName, N>& names, std::string_view name) {
  for (const ConsentName& entry : names) {
    if (entry.name == name) return entry.capability;
  }
  return Capability::unknown;
}

std::string text_of(const Json* object, std::string_view key) {
  const std::string* text = object == nullptr ? nullptr : json_string(*object, key);
  return text == nullptr ? std::string() : *text;
}

bool is_elided(std::string_view text) {
  static constexpr std::string_view ellipsis = "\u2026";
  return text.size() >= ellipsis.size() && text.substr(text.size() - ellipsis.size()) == ellipsis;
}

bool has_several_lines(std::string_view text) {
  return text.find_first_of("\n\r\v\f") != std::string_view::npos;
}

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n\r\v\f");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n\r\v\f") - first + 1);
}

// A title may also be the call row itself ("Write notes.txt").
Capability capability_of_call(std::string_view title) {
  for (const CallWord& word : call_words()) {
    if (title.substr(0, word.call_word.size()) == word.call_word && title.substr(word.call_word.size(), 1) == " ") {
      return word.capability;
    }
  }
  return Capability::unknown;
}

CallText read_v2(const Json& tool_call, PermissionRequest* request) {
  const std::string_view title = request->title.bytes();
  request->capability = capability_of_call(title);
  for (const CallWord& word : call_words()) {
    if (title.substr(0, word.title_prefix.size()) != word.title_prefix) continue;
    request->capability = word.capability;
    if (word.capability != Capability::shell) break;
    const std::string_view command = stripped(title.substr(word.title_prefix.size()));
    const std::string raw = text_of(json_object(tool_call, "rawInput"), "command");
    const bool agrees = raw.empty() || stripped(raw) == command;
    if (command.empty() || has_several_lines(command) || is_elided(command) || !agrees) break;
    request->subject = Untrusted(std::string(command));
    request->subject_is_whole = true;
    break;
  }
  return call_text_of_title(title);
}

CallText read_v3(const Json& kiro, PermissionRequest* request) {
  const Json* consent = json_object(kiro, "consent");
  const std::string name = text_of(consent, "capability");
  const std::string resource = text_of(consent, "resource");
  const std::string command = text_of(&kiro, "command");
  const Capability by_tool = look_up(tool_names, text_of(&kiro, "toolId"));
  request->capability = look_up(consent_names, name);
  bool whole = request->capability != Capability::unknown && !resource.empty() && !is_elided(resource);
  if (by_tool != Capability::unknown && by_tool != request->capability) whole = false;
  if (!command.empty() && command != resource) whole = false;
  if (request->capability == Capability::shell && stripped(resource) != request->title.bytes()) whole = false;
  request->subject_is_whole = whole;
  if (whole) request->subject = Untrusted(resource);
  CallText call = call_text_of_resource(name, resource);
  if (!command.empty() && command != resource) call.unshowable = "the request names two different commands";
  return call;
}

}  // namespace

CallText read_subject(const Json& params, const Json& tool_call, policy::PermissionRequest* request) {
  const Json* meta = json_object(params, "_meta");
  const Json* kiro = meta == nullptr ? nullptr : json_object(*meta, "kiro");
  return kiro == nullptr ? read_v2(tool_call, request) : read_v3(*kiro, request);
}

}  // namespace oncelatch::elicitation
