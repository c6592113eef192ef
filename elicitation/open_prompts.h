// The prompts that are open, and what was asked lately: bounded, so that a flood of records costs a fixed amount of
// memory.
//
// Ownership: owns the prompts; pointers stay valid until the prompt is removed. Threads: one. Failure: none. Units:
// nanoseconds of the clock. After fork: not for the child.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <string>

#include "base/clock.h"
#include "elicitation/digest.h"
#include "elicitation/recorder_line.h"
#include "policy/recorder.h"

namespace oncelatch::elicitation {

struct OpenPrompt {
  policy::PromptId id;
  PromptRequest wire;
  policy::Decision decision;
  CallPrint print;  // set by OpenPrompts::add
  Nanoseconds seen_at{0};
  bool announced = false;  // the listener heard of it
  bool ended = false;      // it has its outcome; kept until its answer comes, since its panel may still be there
};

class OpenPrompts {
 public:
  static constexpr std::size_t most_open = 64;
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;
  static constexpr std::size_t most_remembered = 8192;

  OpenPrompt& add(OpenPrompt prompt);
  [[nodiscard]] OpenPrompt* find(const PromptRequest& wire);  // same id and direction
  [[nodiscard]] OpenPrompt* find_answered(const PromptAnswer& answer);
  // What has to go before another is added, nullptr when nothing has to: ended ones first, then the oldest; never
  // `keep`.
  [[nodiscard]] OpenPrompt* to_evict(const OpenPrompt* keep);
  void remove(OpenPrompt* prompt, Nanoseconds now);
  // A request of this session is no longer remembered: a later one could look like it.
  [[nodiscard]] bool forgot() const { return forgot_; }
  [[nodiscard]] std::list<OpenPrompt>& all() { return prompts_; }

  // Why the panel of `prompt` can't be told from another's: an open twin, or a text that could look the same.
  [[nodiscard]] std::string why_ambiguous(const OpenPrompt& prompt) const;
  // When a prompt with the same text was last answered.
  [[nodiscard]] std::optional<Nanoseconds> same_answered_at(const OpenPrompt& prompt) const;

 private:
  struct Remembered {
    CallPrint print;
    std::optional<Nanoseconds> answered_at;
  };
  std::list<OpenPrompt> prompts_;
  std::size_t bytes_ = 0;  // of their texts
  std::deque<Remembered> remembered_;
  bool forgot_ = false;
};

}  // namespace oncelatch::elicitation
