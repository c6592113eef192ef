// One permission request: what the recorder says, what the panel shows, and what runs if it is
// approved. Made from a scenario step with the defaults of the chosen engine.
//
//   const Prompt prompt = make_prompt(step, scenario.style, ids);
//
// Plain values; nothing fails (odd input gives an odd prompt, which is what hostile tests want).
#pragma once

#include "json.h"
#include "scenario.h"
#include "text.h"

#include <random>
#include <string>
#include <vector>

namespace kiro {

// Chance and identifiers. Seed 0 means: another sequence each run.
class Source {
 public:
  explicit Source(unsigned seed);
  long between(Range range);
  bool happens(double probability);
  std::string uuid();
  Json request_id(Engine engine);  // a UUID (V2), or 1, 2, 3 … (V3)
  std::string tool_call_id();

 private:
  std::mt19937 random_;
  long requests_ = 0;
};

struct Option {
  std::string id;
  std::string name;
  std::string kind;
  std::string label;  // on the screen
};

enum class PromptKind { Approval, Question, Classic };

struct Prompt {
  PromptKind kind = PromptKind::Approval;
  Json id;
  std::string tool_call_id;
  std::string tool;     // lower case, as in the header of V2
  std::string title;    // in the recorder
  std::string header;   // in front of the words about approval
  std::string call;     // V2: the text after the arrow; V3: the text after "tool → "
  std::string command;  // what runs
  std::string path;
  std::string content;
  bool writes = false;
  bool runs = true;  // an approval really does it
  Lines diff;
  Lines between;
  std::vector<Option> options;
  Json trust = Json::array();  // trustOptions
  Json meta;
  bool consent_echo = true;
  Json step;  // the rest: delays, swap, during, expect …
};

struct Answer {
  enum class How { Selected, Cancelled, Error, Nothing };
  How how = How::Selected;
  std::string option_id;
  Json trust;         // V2: the chosen entry of trustOptions
  std::string scope;  // V3: invocation, session …
  std::string text;   // what was typed into the Modify editor
};

Prompt make_prompt(const Json& step, const Style& style, Source& source);
const Option* option_with_id(const Prompt& prompt, const std::string& id);
bool allows(const Prompt& prompt, const Answer& answer);

}  // namespace kiro
