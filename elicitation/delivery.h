// Delivers one verdict as guarded keys. Driven by ticks and screen changes, never sleeps.
//
//   Delivery delivery(setup, wanted, policy::Verdict::decline, not_before);
//   while (!delivery.finished()) { wait_until(delivery.next_tick()); delivery.tick(); }
//   if (delivery.pressed()) ...   // Enter went out on the one-time row; the recorder has to confirm it
//
// aiming: the prompt of exactly this request stands there, nobody types -> settling: a person's input is held, the same
// screen was seen twice -> moving: one key at a time, each only after the screen shows the one before -> settling ->
// Enter. Ownership: everything in DeliverySetup outlives it; destruction lets a person's input through again. Threads:
// one. Failure: any failed check ends it without another key; failure() names the check. Units: nanoseconds of the
// clock.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "elicitation/pane.h"
#include "elicitation/panel_check.h"
#include "policy/recorder.h"

namespace oncelatch::elicitation {

// What the record says right now about the prompt that a key is about to answer.
struct Standing {
  enum class Kind { open, unsure, closed };
  Kind kind = Kind::open;
  std::string why;  // for closed
};

struct DeliverySetup {
  Pane* pane = nullptr;
  InputGate* gate = nullptr;
  const Clock* clock = nullptr;
  std::function<Standing()> standing;  // asked before every key
  std::function<Status()> write_down;  // once, before the first key; an error means no key
};

// Bounds. Public for tests.
struct DeliveryTimes {
  Nanoseconds appear = std::chrono::seconds(30);
  Nanoseconds person_idle = std::chrono::seconds(1);
  Nanoseconds person_recent = std::chrono::seconds(10);  // typed within this: watch the input for person_idle ourselves
  Nanoseconds same_size = std::chrono::milliseconds(300);
  Nanoseconds settle = std::chrono::milliseconds(12);
  Nanoseconds step = std::chrono::seconds(2);  // one focus move, or settling, from the last key on
  Nanoseconds capture_age = std::chrono::milliseconds(100);
  Nanoseconds cadence = std::chrono::milliseconds(4);
  Nanoseconds slow_cadence = std::chrono::milliseconds(20);
};

class Delivery {
 public:
  Delivery(DeliverySetup setup, WantedPanel wanted, policy::Verdict verdict, Nanoseconds not_before);
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery();

  void tick();
  [[nodiscard]] Nanoseconds next_tick() const { return next_tick_; }
  [[nodiscard]] bool finished() const { return stage_ == Stage::pressed || stage_ == Stage::failed; }
  [[nodiscard]] bool pressed() const { return stage_ == Stage::pressed; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] int moves_sent() const { return moves_; }

 private:
  enum class Stage { aiming, settling, moving, pressed, failed };

  void aim(Nanoseconds now);
  void settle(Nanoseconds now);
  void follow_move(Nanoseconds now);
  void send_move(Nanoseconds now);
  void press_enter(Nanoseconds now);
  bool look();  // capture and read; false when the screen can't be read
  [[nodiscard]] std::string check() const { return check_screen(screen_, wanted_); }
  std::string why_not_idle(Nanoseconds now);
  bool record_is_open();
  Result<bool> send(Key key);
  void step_back(std::string why, Nanoseconds now);
  void fail(std::string check);
  void release();

  DeliverySetup setup_;
  WantedPanel wanted_;
  policy::Verdict verdict_;
  DeliveryTimes times_;
  Stage stage_ = Stage::aiming;
  Nanoseconds not_before_;
  Nanoseconds deadline_;
  Nanoseconds step_deadline_{0};
  Nanoseconds next_tick_;
  Nanoseconds seen_at_{0};  // time of the last capture
  Nanoseconds size_since_{0};
  Nanoseconds stable_since_{0};
  Nanoseconds held_since_{0};
  Screen screen_;
  std::optional<Nanoseconds> quiet_since_;  // as far as we watched, before our own first key
  std::optional<Panel> base_;               // the panel the settling or moving started from
  std::size_t columns_ = 0;
  std::size_t lines_ = 0;
  std::size_t expected_focus_ = 0;
  bool held_ = false;
  bool written_down_ = false;
  int moves_ = 0;
  std::string settle_why_ = "the screen does not come to rest";
  std::string last_why_ = "the prompt did not appear";
  std::string failure_;
};

}  // namespace oncelatch::elicitation
