#include "scenario.h"

#include "tool.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace kiro {
namespace {

struct StepShape {
  std::string_view type;
  std::string_view keys;  // blank-separated
};

constexpr std::string_view kTopKeys =
    " version engine seed frame_ms burst torn_frames lost_keys sync anchor resize width footer "
    "rule_above between pad_right wrap_rows raw_escapes ascii colour labels wrapper direction traffic "
    "record_split_ms boot_ms linger_ms max_wait_ms tool_timeout_ms noise repeat esc_ends_turn wait_input "
    "stay headless exit_code key_log steps turns comment ";

#define PROMPT_KEYS                                                                              \
  " id tool title header pretty call command path content diff between_rows rows options order " \
  "trust_options meta consent_echo subagent tool_call_id delay_ms record_delay_ms answer "       \
  "answer_delay_ms withdraw_after_ms withdraw swap during expect tool_id run "

constexpr std::array kSteps = {
    StepShape{"say", " text delay_ms raw bare "},
    StepShape{"prompt", PROMPT_KEYS},
    StepShape{"classic", PROMPT_KEYS},
    StepShape{"question", PROMPT_KEYS},
    StepShape{"auto", PROMPT_KEYS " gap_ms "},
    StepShape{"batch", " prompts show "},
    StepShape{"record", " line dir msg newline repeat op "},
    StepShape{"read", " path "},
    StepShape{"write", " path content append "},
    StepShape{"exec", " command tty "},
    StepShape{"sleep", " ms "},
    StepShape{"picker", " title rows footer hotkeys look "},
    StepShape{"resize-noise", " ms low high "},
    StepShape{"crash", " "},
    StepShape{"hang", " "},
    StepShape{"exit", " code kill "},
};

bool listed(std::string_view keys, const std::string& key) {
  return keys.find(" " + key + " ") != std::string_view::npos;
}

bool check_keys(const Json& object, std::string_view keys, const std::string& where, std::string& error) {
  for (const auto& entry : object.items()) {
    if (listed(keys, entry.key()) || entry.key() == "type" || entry.key() == "comment") continue;
    error = "scenario: " + where + ": unknown key \"" + entry.key() + "\"";
    return false;
  }
  return true;
}

bool check_step(const Json& step, const std::string& where, std::string& error) {
  const std::string type = text_of(step, "type");
  const auto* const shape =
      std::find_if(kSteps.begin(), kSteps.end(), [&type](const StepShape& known) { return known.type == type; });
  if (shape == kSteps.end()) {
    error = "scenario: " + where + ": unknown step type \"" + type + "\"";
    return false;
  }
  if (!check_keys(step, shape->keys, where, error)) return false;
  for (const Json& prompt : member_of(step, "prompts")) {
    if (!check_keys(prompt, PROMPT_KEYS, where + " (batch)", error)) return false;
  }
  const Json& swapped = member_of(member_of(step, "swap"), "to");
  return !swapped.is_object() || check_keys(swapped, PROMPT_KEYS, where + " (swap)", error);
}

bool check_steps(const Json& steps, const std::string& where, std::string& error) {
  if (!steps.is_array()) {
    error = "scenario: " + where + ": must be a list";
    return false;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!check_step(steps[i], where + "[" + std::to_string(i) + "]", error)) return false;
  }
  return true;
}

void read_style(const Json& document, Style& style) {
  style.engine = text_of(document, "engine", "v2") == "v3" ? Engine::V3 : Engine::V2;
  style.ascii = flag_of(document, "ascii", false);
  style.colour = flag_of(document, "colour", false);
  style.upper_footer = text_of(document, "footer", "lower") == "upper";
  style.rule_above = flag_of(document, "rule_above", style.upper_footer);
  style.blank_between = text_of(document, "between", style.upper_footer ? "blank" : "rule") == "blank";
  style.pad_right = static_cast<std::size_t>(std::max(0L, number_of(document, "pad_right", 1)));
  style.wrap_rows = flag_of(document, "wrap_rows", false);
  style.raw_escapes = flag_of(document, "raw_escapes", false);
  style.labels = member_of(document, "labels");
}

void read_screen(const Json& document, Scenario& scenario) {
  scenario.frame_ms = range_of(document, "frame_ms", scenario.frame_ms);
  const std::string burst = text_of(document, "burst", "stale");
  scenario.burst = burst == "none" ? Burst::None : burst == "lose" ? Burst::Lose : Burst::Stale;
  scenario.torn_frames = ratio_of(document, "torn_frames", 0);
  scenario.lost_keys = ratio_of(document, "lost_keys", 0);
  scenario.synchronized_output = flag_of(document, "sync", std::getenv("KIRO_NO_SYNCHRONIZED") == nullptr);
  scenario.start_at_bottom = text_of(document, "anchor", "bottom") == "bottom";
  scenario.repaint_on_resize = text_of(document, "resize", "repaint") == "repaint";
  scenario.width = number_of(document, "width", 0);
}

void read_recorder(const Json& document, Scenario& scenario) {
  scenario.string_wrapper = text_of(document, "wrapper", "object") == "string";
  scenario.doc_direction = text_of(document, "direction", "real") == "doc";
  scenario.traffic = flag_of(document, "traffic", true);
  scenario.record_split_ms = number_of(document, "record_split_ms", 0);
}

void read_course(const Json& document, Scenario& scenario) {
  scenario.version = text_of(document, "version", scenario.version);
  scenario.seed = static_cast<unsigned>(number_of(document, "seed", 0));
  scenario.boot_ms = number_of(document, "boot_ms", scenario.boot_ms);
  scenario.linger_ms = number_of(document, "linger_ms", scenario.linger_ms);
  scenario.max_wait_ms = number_of(document, "max_wait_ms", scenario.max_wait_ms);
  scenario.tool_timeout_ms = number_of(document, "tool_timeout_ms", scenario.tool_timeout_ms);
  scenario.noise = number_of(document, "noise", 0);
  scenario.repeat = number_of(document, "repeat", 1);
  scenario.esc_ends_turn = flag_of(document, "esc_ends_turn", false);
  scenario.wait_input = flag_of(document, "wait_input", false);
  scenario.stay = flag_of(document, "stay", false);
  scenario.headless_fails = text_of(document, "headless", "deny") == "fail";
  scenario.exit_code = static_cast<int>(number_of(document, "exit_code", 0));
  scenario.key_log = text_of(document, "key_log");
  if (has(document, "steps")) scenario.steps = member_of(document, "steps");
  if (has(document, "turns")) scenario.turns = member_of(document, "turns");
}

std::string scenario_path() {
  const char* named = std::getenv("KIRO_STANDIN_SCENARIO");
  if (named != nullptr && *named != '\0') return named;
  constexpr const char* kLocal = ".kiro-standin.json";
  return access(kLocal, F_OK) == 0 ? kLocal : "";
}

Json builtin() {
  return {{"steps", Json::array({Json{{"type", "say"}, {"text", "I will look where we are."}},
                                 Json{{"type", "prompt"}, {"command", "pwd"}}})}};
}

}  // namespace

Range range_of(const Json& object, const char* key, Range fallback) {
  const Json& value = member_of(object, key);
  if (value.is_number_integer()) return {value.get<long>(), value.get<long>()};
  if (!value.is_array() || value.size() != 2) return fallback;
  if (!value[0].is_number_integer() || !value[1].is_number_integer()) return fallback;
  const long low = value[0].get<long>();
  return {low, std::max(low, value[1].get<long>())};
}

bool read_scenario(const Json& document, Scenario& scenario, std::string& error) {
  if (!document.is_object()) {
    error = "scenario: not a JSON object";
    return false;
  }
  if (!check_keys(document, kTopKeys, "top level", error)) return false;
  read_style(document, scenario.style);
  read_screen(document, scenario);
  read_recorder(document, scenario);
  read_course(document, scenario);
  if (!check_steps(scenario.steps, "steps", error)) return false;
  for (std::size_t i = 0; i < scenario.turns.size(); ++i) {
    if (!check_steps(scenario.turns[i], "turns[" + std::to_string(i) + "]", error)) return false;
  }
  return true;
}

Scenario find_scenario(std::string& error) {
  Scenario scenario;
  const std::string path = scenario_path();
  Json document = builtin();
  if (!path.empty()) {
    constexpr std::size_t kLargest = 16UL * 1024 * 1024;
    std::string text;
    if (const int problem = read_file(path, text, kLargest); problem != 0) {
      error = "scenario: cannot read " + path + ": " + errno_name(problem);
      return scenario;
    }
    document = Json::parse(text, nullptr, false);
  }
  read_scenario(document, scenario, error);
  return scenario;
}

}  // namespace kiro
