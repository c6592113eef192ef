#include "prompt.h"

#include "kiro_words.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace kiro {
namespace {

struct Default {
  const char* id;
  const char* name;
  const char* kind;
  const char* label;
};

constexpr std::array kV2 = {
    Default{"allow_once", "Yes", "allow_once", words::allow_once},
    Default{"allow_always", "Always", "allow_always", words::allow_always},
    Default{"reject_once", "No", "reject_once", words::reject_once},
    Default{"allow_all_session", words::allow_all, "allow_always", ""},
};
constexpr std::array kV3 = {
    Default{"accept", words::accept, "allow_once", ""},
    Default{"always-accept", words::always_accept, "allow_always", ""},
    Default{"reject", words::reject, "reject_once", ""},
    Default{"always-reject", words::always_reject, "reject_always", ""},
};

struct ToolNames {
  const char* tool;
  const char* pretty;    // V2 call row
  const char* v3_shown;  // V3: "shell → …"
  const char* v3_title;  // V3 recorder title; empty: the command
  const char* v3_tool_id;
};

constexpr std::array kTools = {
    ToolNames{"shell", words::shell, "shell", "", "run_command"},
    ToolNames{"write", words::write, "fs_write", "Write File", "fs_write"},
    ToolNames{"replace", words::write, "str_replace", "Replace in File", "str_replace"},
    ToolNames{"delete", "Delete", "delete_file", "Delete File", "delete_file"},
    ToolNames{"read", words::read, "fs_read", "Read File", "fs_read"},
    ToolNames{"use_aws", words::aws, "use_aws", words::aws, "use_aws"},
    ToolNames{"agent", "Agent", "invoke_agent", "Invoke Agent", "invoke_agent"},
};

ToolNames names_of(const std::string& tool) {
  const auto* const found =
      std::find_if(kTools.begin(), kTools.end(), [&tool](const ToolNames& known) { return tool == known.tool; });
  return found == kTools.end() ? ToolNames{nullptr, nullptr, nullptr, nullptr, nullptr} : *found;
}

// web_fetch -> Web Fetch
std::string prettified(std::string tool) {
  bool start = true;
  for (char& letter : tool) {
    if (letter == '_') letter = ' ';
    if (start) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    start = letter == ' ';
  }
  return tool;
}

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

Option from_default(const Default& entry) {
  return {entry.id, entry.name, entry.kind, entry.label};
}

std::vector<Option> default_options(Engine engine, long rows) {
  std::vector<Option> options;
  const auto& all = engine == Engine::V3 ? kV3 : kV2;
  for (const Default& entry : all) options.push_back(from_default(entry));
  if (engine == Engine::V2 && rows != 4) options.pop_back();
  if (rows == 2 || (engine == Engine::V3 && rows == 3)) options.erase(options.begin() + 1);
  if (engine == Engine::V3 && rows == 2) options.pop_back();
  return options;
}

std::vector<Option> given_options(const Json& list) {
  std::vector<Option> options;
  for (const Json& entry : list) {
    options.push_back(
        {text_of(entry, "optionId"), text_of(entry, "name"), text_of(entry, "kind"), text_of(entry, "label")});
  }
  return options;
}

std::string label_of(const Option& option, const Style& style) {
  const std::string given = text_of(style.labels, option.id.c_str());
  if (!given.empty()) return given;
  if (!option.label.empty()) return option.label;
  for (const Default& entry : kV2) {
    if (option.id == entry.id && *entry.label != '\0') return entry.label;
  }
  return option.name;
}

void fill_options(const Json& step, const Style& style, Prompt& prompt) {
  const Json& given = member_of(step, "options");
  const long rows = number_of(step, "rows", style.engine == Engine::V3 ? 4 : 3);
  prompt.options = given.is_array() ? given_options(given) : default_options(style.engine, rows);
  if (prompt.kind == PromptKind::Question) {
    for (std::size_t i = 0; i < prompt.options.size(); ++i) {
      Option& option = prompt.options[i];
      if (option.id.empty()) option.id = prompt.tool_call_id + "-option-" + std::to_string(i);
      if (option.kind.empty()) option.kind = "allow_once";
    }
  }
  std::vector<Option> ordered;
  for (const Json& at : member_of(step, "order")) {
    const std::size_t index = at.is_number_unsigned() ? at.get<std::size_t>() : prompt.options.size();
    if (index < prompt.options.size()) ordered.push_back(prompt.options[index]);
  }
  if (!ordered.empty()) prompt.options = ordered;
  for (Option& option : prompt.options) option.label = label_of(option, style);
}

Json default_trust(const Prompt& prompt) {
  if (prompt.tool != "shell") {
    if (prompt.path.empty()) return Json::array();
    return Json::array({Json{{"label", "Specific paths"},
                             {"display", prompt.path},
                             {"setting_key", "runtime_read_paths"},
                             {"patterns", Json::array({prompt.path})}}});
  }
  const std::string base = prompt.command.substr(0, prompt.command.find_first_of(" \n"));
  Json list = Json::array();
  list.push_back({{"label", "Full command"},
                  {"display", prompt.command},
                  {"setting_key", "allowedCommands"},
                  {"patterns", Json::array({prompt.command})}});
  list.push_back({{"label", "Base command"},
                  {"display", base + " *"},
                  {"setting_key", "allowedCommands"},
                  {"patterns", Json::array({base + "( .*)?"})}});
  return list;
}

Json consent_meta(const Json& step, const Prompt& prompt) {
  const bool shell = prompt.tool == "shell";
  const ToolNames names = names_of(prompt.tool);
  const std::string capability = shell ? "shell" : names.v3_shown != nullptr ? names.v3_shown : prompt.tool;
  std::string cwd = "/";
  if (char* const now = getcwd(nullptr, 0); now != nullptr) {
    cwd = now;
    std::free(now);
  }
  Json consent = {{"capability", capability},
                  {"resource", shell ? prompt.command : prompt.path},
                  {"askType", "implicit"},
                  {"workspaceRoot", cwd}};
  if (shell) consent["triggeringResource"] = split_lines(prompt.command).front();
  Json kiro = {{"toolId", text_of(step, "tool_id", names.v3_tool_id != nullptr ? names.v3_tool_id : prompt.tool)},
               {"consent", consent},
               {"consentRound", 1}};
  if (shell) kiro["command"] = prompt.command;
  return {{"kiro", kiro}};
}

Lines default_diff(const Prompt& prompt) {
  if (!prompt.writes || prompt.content.empty()) return {};
  Lines lines = split_lines(prompt.content);
  if (lines.back().empty()) lines.pop_back();
  const std::string count = std::to_string(lines.size()) + (lines.size() == 1 ? " line" : " lines");
  Lines diff = {"  added " + count + " in " + base_name(prompt.path)};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    diff.push_back(std::string(number.size() < 6 ? 6 - number.size() : 0, ' ') + number + "+  " + lines[i]);
  }
  return diff;
}

std::string default_title(const Prompt& prompt, Engine engine, const std::string& pretty) {
  if (engine == Engine::V3) {
    const ToolNames names = names_of(prompt.tool);
    if (names.v3_title != nullptr && *names.v3_title != '\0') return names.v3_title;
    return prompt.command.empty() ? pretty : prompt.command;
  }
  if (prompt.tool == "shell") return words::running + prompt.command;
  if (prompt.tool == "read") return words::reading + base_name(prompt.path) + ":1";
  return prompt.path.empty() ? pretty : pretty + " " + prompt.path;
}

std::string default_header(const Prompt& prompt, Engine engine) {
  if (engine == Engine::V2) return prompt.tool;
  if (prompt.tool == "shell") return "Run a shell command";
  return prompt.title;
}

void fill_texts(const Json& step, const Style& style, Prompt& prompt) {
  const ToolNames names = names_of(prompt.tool);
  const std::string pretty = text_of(step, "pretty", names.pretty != nullptr ? names.pretty : prettified(prompt.tool));
  const std::string object = prompt.tool == "shell" ? prompt.command : prompt.path;
  const std::string shown = names.v3_shown != nullptr ? names.v3_shown : prompt.tool;
  prompt.title = text_of(step, "title", default_title(prompt, style.engine, pretty));
  const std::string call = style.engine == Engine::V3 ? shown + (style.ascii ? " -> " : " → ") + object
                                                      : pretty + (object.empty() ? "" : " " + object);
  prompt.call = text_of(step, "call", call);
  prompt.header = text_of(step, "header", default_header(prompt, style.engine));
  const std::string subagent = text_of(step, "subagent");
  if (!subagent.empty()) prompt.header = subagent + " > " + prompt.header;
}

PromptKind kind_of(const std::string& type) {
  if (type == "question") return PromptKind::Question;
  return type == "classic" ? PromptKind::Classic : PromptKind::Approval;
}

Json id_of(const Json& step, Engine engine, Source& source) {
  const Json& given = member_of(step, "id");
  if (!has(step, "id") || given == "auto") return source.request_id(engine);
  if (given == "string") return source.request_id(Engine::V2);
  if (given == "int") return source.request_id(Engine::V3);
  return given;
}

}  // namespace

Source::Source(unsigned seed) : random_(seed) {
  if (seed == 0) random_.seed(static_cast<unsigned>(monotonic_micros()) ^ static_cast<unsigned>(getpid() << 12));
}

long Source::between(Range range) {
  return std::uniform_int_distribution<long>(range.low, std::max(range.low, range.high))(random_);
}

bool Source::happens(double probability) {
  return probability > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < probability;
}

std::string Source::uuid() {
  std::string text = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& letter : text) {
    if (letter == 'x') letter = "0123456789abcdef"[random_() & 15U];
  }
  return text;
}

Json Source::request_id(Engine engine) {
  if (engine == Engine::V2) return uuid();
  return ++requests_;
}

std::string Source::tool_call_id() {
  std::string text = "tooluse_";
  for (int i = 0; i < 22; ++i) {
    text += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[random_() % 62U];
  }
  return text;
}

Prompt make_prompt(const Json& step, const Style& style, Source& source) {
  Prompt prompt;
  prompt.kind = kind_of(text_of(step, "type"));
  prompt.step = step;
  prompt.id = id_of(step, style.engine, source);
  prompt.tool_call_id = text_of(step, "tool_call_id", source.tool_call_id());
  prompt.command = text_of(step, "command");
  prompt.path = text_of(step, "path");
  prompt.content = text_of(step, "content");
  prompt.tool = text_of(step, "tool", prompt.path.empty() ? "shell" : "write");
  prompt.writes = prompt.tool == "write" && !prompt.path.empty();
  prompt.runs = flag_of(step, "run", true);
  prompt.consent_echo = flag_of(step, "consent_echo", true);
  prompt.diff = has(step, "diff") ? texts_of(step, "diff") : default_diff(prompt);
  prompt.between = texts_of(step, "between_rows");
  fill_texts(step, style, prompt);
  fill_options(step, style, prompt);
  if (style.engine == Engine::V2) {
    prompt.trust = has(step, "trust_options") ? member_of(step, "trust_options") : default_trust(prompt);
    if (!prompt.trust.empty()) prompt.meta = {{"trustOptions", prompt.trust}};
  } else if (prompt.kind == PromptKind::Approval) {
    prompt.meta = consent_meta(step, prompt);
  }
  if (has(step, "meta")) prompt.meta = member_of(step, "meta");
  return prompt;
}

const Option* option_with_id(const Prompt& prompt, const std::string& id) {
  for (const Option& option : prompt.options) {
    if (option.id == id) return &option;
  }
  return nullptr;
}

bool allows(const Prompt& prompt, const Answer& answer) {
  if (answer.how != Answer::How::Selected) return false;
  const Option* const option = option_with_id(prompt, answer.option_id);
  return option != nullptr && option->kind.rfind("allow", 0) == 0;
}

}  // namespace kiro
