// The scenario: what the stand-in asks, draws and does. README.md documents the JSON schema.
//
//   std::string error;
//   const Scenario scenario = find_scenario(error);   // error: print it and end with 2
//
// Found through KIRO_STANDIN_SCENARIO, else ./.kiro-standin.json, else a built-in one. Unknown keys
// and step types are errors, so that a spelling mistake cannot make a test pass.
#pragma once

#include "json.h"
#include "text.h"

#include <string>

namespace kiro {

enum class Engine { V2, V3 };
enum class Burst { None, Stale, Lose };

struct Range {
  long low = 0;
  long high = 0;
};

// How things look.
struct Style {
  Engine engine = Engine::V2;
  bool ascii = false;
  bool colour = false;
  bool upper_footer = false;   // up to 2.9
  bool rule_above = false;     // a rule above the call row
  bool blank_between = false;  // a blank row, not a rule, between the call and the panel
  std::size_t pad_right = 1;
  bool wrap_rows = false;    // Up on the first row goes to the last one
  bool raw_escapes = false;  // escape sequences in text reach the terminal
  Json labels;               // option id -> label on the screen
};

struct Scenario {
  std::string version = "2.27.0";
  Style style;
  unsigned seed = 0;
  Range frame_ms{16, 16};
  Burst burst = Burst::Stale;
  double torn_frames = 0;  // probability that a moving frame shows two focus marks first
  double lost_keys = 0;    // probability that a key on a panel vanishes
  bool synchronized_output = true;
  bool start_at_bottom = true;
  bool repaint_on_resize = true;
  long width = 0;  // columns to lay out for; 0: the terminal's

  bool string_wrapper = false;  // recorder: "msg" is a string
  bool doc_direction = false;   // recorder: requests go "out"
  bool traffic = true;          // recorder: ordinary lines as well
  long record_split_ms = 0;     // recorder: each line in two writes this far apart

  long boot_ms = 50;
  long linger_ms = 50;
  long max_wait_ms = 120'000;
  long tool_timeout_ms = 30'000;
  long noise = 0;   // rows of text in many scripts before each prompt
  long repeat = 1;  // how often the steps are done
  bool esc_ends_turn = false;
  bool wait_input = false;
  bool stay = false;
  bool headless_fails = false;
  int exit_code = 0;
  std::string key_log;
  Json steps = Json::array();
  Json turns = Json::array();
};

bool read_scenario(const Json& document, Scenario& scenario, std::string& error);
Scenario find_scenario(std::string& error);
Range range_of(const Json& object, const char* key, Range fallback);  // 16 or [8, 40]

}  // namespace kiro
