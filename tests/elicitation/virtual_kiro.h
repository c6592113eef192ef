// A tiny terminal program with approval prompts, on a manual clock: its own state, frames that lag behind it, torn
// frames, keys that get lost, a person who types, a record file. Made from contracts/kiro-tui.md only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "elicitation/pane.h"
#include "policy/request.h"

namespace oncelatch::elicitation::testing {

struct VirtualRow {
  std::string label;
  policy::OptionKind kind;
};

struct VirtualPrompt {
  std::string id;  // request id, unquoted
  std::string command;
  bool v3 = false;
  std::vector<VirtualRow> rows;
};

struct VirtualTimes {
  Nanoseconds frame = std::chrono::milliseconds(16);  // from a change of state to its picture
  Nanoseconds torn = Nanoseconds(0);                  // how long a picture's lower part is still the old one
  Nanoseconds read_delay = Nanoseconds(0);            // a person's byte waits this long unread
};

class VirtualKiro final : public Pane, public InputGate {
 public:
  VirtualKiro(ManualClock* clock, std::string record_path, std::size_t columns, std::size_t lines);

  // The program.
  void show(const VirtualPrompt& prompt, bool record = true);
  void answer_elsewhere(bool record = true);  // the open prompt is over: another answer came
  void cancel();
  void move_focus(int by);
  void run();  // reads keys that are due, draws frames that are due
  [[nodiscard]] std::optional<Nanoseconds> next_event() const;

  // The person.
  void person_types(Key key);

  Result<ScreenText> capture() override;
  Result<bool> send_key_if(const std::vector<std::string>& must_show, Key key) override;
  Status set_person_input(bool on) override;
  [[nodiscard]] Nanoseconds last_person_input() const override { return last_person_; }
  [[nodiscard]] bool quiet() override { return keys_.empty(); }
  void expect_own_key(Key) override { ++expected_; }
  void own_key_not_sent(Key) override { --expected_; }

  VirtualTimes times;
  std::vector<std::string> transcript;
  bool copy_mode = false;
  bool capture_fails = false;
  double lose_key = 0;  // chance that one of our keys gets lost
  int ignore_keys = 0;  // that many of our keys do nothing
  bool person_input = true;
  bool call_details = false;  // a parameter row below the call
  bool rule_above = true;     // a rule, else a blank row, between call and header
  std::size_t margin = 0;     // the text area is that much narrower
  std::optional<VirtualPrompt> open;
  std::size_t focus = 0;
  std::vector<Key> sent;
  int captures = 0;
  double torn_at = 0.5;  // where the old part begins, in parts of the screen; negative: a random place each time
  std::function<void()> after_capture;  // hostile events at the worst moments
  std::function<void()> before_guard;
  std::function<void(Key)> before_key;  // our key is about to be taken; state as it is
  std::mt19937_64 random{1};

  void resize(std::size_t columns, std::size_t lines);
  void draw_now();  // no lag
  void write_record(const std::string& message, const char* direction);

 private:
  struct Frame {
    Nanoseconds due;
    std::vector<std::string> rows;
  };
  struct TypedKey {
    Nanoseconds due;
    Key key;
  };
  void changed();
  void take(Key key);
  [[nodiscard]] std::vector<std::string> render() const;
  [[nodiscard]] std::vector<std::string> wrapped(const std::string& first, const std::string& indent,
                                                 const std::string& text) const;
  [[nodiscard]] std::vector<std::string> visible() const;

  ManualClock* clock_;
  std::string record_path_;
  std::size_t columns_;
  std::size_t lines_;
  std::vector<std::string> screen_;
  std::vector<std::string> before_;  // the picture before, for torn frames
  Nanoseconds drawn_at_{0};
  std::size_t torn_line_ = 0;
  std::deque<Frame> frames_;
  std::deque<TypedKey> keys_;
  ScreenText seen_;
  Nanoseconds last_person_{0};
  int expected_ = 0;
};

[[nodiscard]] std::string request_message(const VirtualPrompt& prompt);
[[nodiscard]] VirtualPrompt v2_prompt(const std::string& id, const std::string& command);

}  // namespace oncelatch::elicitation::testing
