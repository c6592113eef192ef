#include "elicitation/delivery.h"

#include <algorithm>
#include <utility>

namespace oncelatch::elicitation {

Delivery::Delivery(DeliverySetup setup, WantedPanel wanted, policy::Verdict verdict, Nanoseconds not_before)
    : setup_(std::move(setup)),
      wanted_(std::move(wanted)),
      verdict_(verdict),
      not_before_(not_before),
      deadline_(std::max(setup_.clock->monotonic(), not_before) + times_.appear),
      next_tick_(setup_.clock->monotonic()) {}

Delivery::~Delivery() {
  release();
}

void Delivery::release() {
  // A terminal that can't be typed into any more is the worst outcome: try more than once.
  for (int tries = 0; held_ && tries < 3; ++tries) {
    if (setup_.pane->set_person_input(true)) held_ = false;
  }
  held_ = false;
}

void Delivery::fail(std::string check) {
  release();
  failure_ = std::move(check);
  stage_ = Stage::failed;
}

// Before the first key a failed check only means to wait for the right screen again; after it, it ends the delivery.
void Delivery::step_back(std::string why, Nanoseconds now) {
  if (moves_ > 0) {
    settle_why_ = std::move(why);
    stable_since_ = now;
    return;
  }
  release();
  base_.reset();
  last_why_ = std::move(why);
  stage_ = Stage::aiming;
}

bool Delivery::look() {
  seen_at_ = setup_.clock->monotonic();
  Result<ScreenText> text = setup_.pane->capture();
  if (!text) {
    screen_ = Screen{ScreenKind::nothing, "the screen can't be read", std::nullopt};
    return false;
  }
  if (text->columns != columns_ || text->rows.size() != lines_) {
    if (columns_ != 0) size_since_ = seen_at_;
    columns_ = text->columns;
    lines_ = text->rows.size();
  }
  screen_ = read_screen(*text);
  if (screen_.panel) {
    std::string twice = check_single(*text, *screen_.panel);
    if (!twice.empty()) screen_ = Screen{ScreenKind::unknown_panel, std::move(twice), std::nullopt};
  }
  return true;
}

// The program may have read a person's byte just now and not have drawn what it did: after the byte was read, too, a
// moment has to pass.
std::string Delivery::why_not_idle(Nanoseconds now) {
  const Nanoseconds last = setup_.gate->last_person_input();
  const bool typed = last != Nanoseconds(0);
  if (!setup_.gate->quiet()) {
    if (moves_ == 0) quiet_since_.reset();
    return "input is still on its way to the program";
  }
  if (!quiet_since_) quiet_since_ = now;
  if (typed && now - last < times_.person_idle) return "a person is typing";
  if (typed && now - last < times_.person_recent && now - *quiet_since_ < times_.person_idle)
    return "a person typed a moment ago";
  return {};
}

void Delivery::tick() {
  if (finished()) return;
  const Nanoseconds now = setup_.clock->monotonic();
  switch (stage_) {
    case Stage::aiming:
      aim(now);
      break;
    case Stage::settling:
      settle(now);
      break;
    case Stage::moving:
      follow_move(now);
      break;
    case Stage::pressed:
    case Stage::failed:
      break;
  }
  const bool fresh = now < deadline_ - times_.appear + std::chrono::milliseconds(500);
  next_tick_ = setup_.clock->monotonic() + (fresh || stage_ != Stage::aiming ? times_.cadence : times_.slow_cadence);
  if (stage_ == Stage::aiming && now < not_before_) next_tick_ = std::max(next_tick_, not_before_);
}

void Delivery::aim(Nanoseconds now) {
  if (now > deadline_) return fail(last_why_);
  std::string not_idle = why_not_idle(now);
  if (now < not_before_) return;
  look();
  last_why_ = check();
  if (!last_why_.empty()) return;
  if (size_since_ != Nanoseconds(0) && now - size_since_ < times_.same_size) {
    last_why_ = "the terminal was just resized";
    return;
  }
  last_why_ = std::move(not_idle);
  if (!last_why_.empty()) return;
  if (!setup_.pane->set_person_input(false)) return fail("a person's input can't be held");
  held_ = true;
  held_since_ = stable_since_ = now;
  base_ = screen_.panel;
  step_deadline_ = now + times_.step;
  stage_ = Stage::settling;
}

// The same panel twice, `settle` apart, nothing typed in between: what stands there is what the program shows, not a
// frame half drawn.
void Delivery::settle(Nanoseconds now) {
  if (now > step_deadline_) return fail(settle_why_);
  settle_why_ = "the screen does not come to rest";
  look();
  if (std::string why = check(); !why.empty()) return step_back(std::move(why), now);
  if (std::string why = why_not_idle(now); !why.empty()) return step_back(std::move(why), now);
  if (!(*screen_.panel == *base_)) {
    if (moves_ > 0 && !same_but_focus(*screen_.panel, *base_)) return fail("the prompt changed under the keys");
    if (moves_ > 0 && screen_.panel->focused != expected_focus_) return fail("the focus moved by itself");
    base_ = screen_.panel;
    stable_since_ = now;
    return;
  }
  if (now - stable_since_ < times_.settle) return;
  if (!written_down_) {
    if (!setup_.write_down()) return fail("the verdict could not be recorded");
    written_down_ = true;
    return;  // that took time: look again
  }
  if (base_->focused == target_row(*base_, verdict_)) return press_enter(now);
  send_move(now);
}

bool Delivery::record_is_open() {
  const Standing standing = setup_.standing();
  if (standing.kind == Standing::Kind::closed) fail(standing.why);
  if (standing.kind == Standing::Kind::unsure) settle_why_ = "the agent's record does not come to rest";
  return standing.kind == Standing::Kind::open;
}

Result<bool> Delivery::send(Key key) {
  setup_.gate->expect_own_key(key);
  Result<bool> sent = setup_.pane->send_key_if(must_show(*base_), key);
  if (sent && !*sent) setup_.gate->own_key_not_sent(key);
  return sent;
}

void Delivery::send_move(Nanoseconds now) {
  if (!record_is_open()) return;
  const std::size_t target = target_row(*base_, verdict_);
  const Key key = target > base_->focused ? Key::down : Key::up;
  const Result<bool> sent = send(key);
  if (!sent) return fail("the terminal did not take the key");
  if (!*sent) return step_back("the screen changed under the key", now);
  ++moves_;
  expected_focus_ = key == Key::down ? base_->focused + 1 : base_->focused - 1;
  step_deadline_ = now + times_.step;
  stage_ = Stage::moving;
}

void Delivery::follow_move(Nanoseconds now) {
  look();
  const std::string why = check();
  if (why.empty() && !same_but_focus(*screen_.panel, *base_)) return fail("the prompt changed under the keys");
  if (why.empty() && screen_.panel->focused == expected_focus_) {
    base_ = screen_.panel;
    stable_since_ = now;
    step_deadline_ = now + times_.step;
    stage_ = Stage::settling;
    return;
  }
  if (why.empty() && screen_.panel->focused != base_->focused) return fail("the focus moved elsewhere");
  if (now > step_deadline_) fail(why.empty() ? "the focus did not move" : why);
}

void Delivery::press_enter(Nanoseconds now) {
  // Checked in this very tick: prompt, focus, size, person. Left: the record, and the age of what was seen.
  if (!record_is_open()) return;
  if (setup_.clock->monotonic() - seen_at_ > times_.capture_age) return step_back("the machine is too slow", now);
  const Result<bool> sent = send(Key::enter);
  if (!sent) return fail("the terminal did not answer to the last key; it may have been typed");
  if (!*sent) return step_back("the screen changed under the key", now);
  release();
  stage_ = Stage::pressed;
}

}  // namespace oncelatch::elicitation
