#include "session.h"

namespace kiro {

void Session::log_key(const Key& key, const char* screen) {
  Json entry = {{"key", key.name}};
  if (!key.text.empty()) entry["text"] = key.text;
  const bool on_panel = panel_visible();
  entry["prompt"] = on_panel ? panel_->prompt.id : Json();
  const std::string row = on_panel ? focused_row(*panel_, scenario_.style) : "";
  entry["row"] = row.empty() ? Json() : Json(row);
  entry["screen"] = screen;
  log_.write(entry);
}

void Session::on_key(const Key& key) {
  if (key.name == "focus") return;
  if (state_ == State::Hang) return log_.write({{"lost", key.name}, {"screen", "hang"}});
  progress();
  if (panel_visible()) {
    panel_key(key);
  } else if (state_ == State::Picker) {
    picker_key(key);
  } else {
    composer_key(key);
  }
  advance();
}

void Session::panel_key(const Key& key) {
  const bool too_fast = scenario_.burst == Burst::Lose && frame_due_ != 0;
  if (too_fast || source_.happens(scenario_.lost_keys)) {
    return log_.write({{"lost", key.name}, {"prompt", panel_->prompt.id}});
  }
  const Json& swap = member_of(panel_->prompt.step, "swap");
  if (key.name == "enter" && text_of(swap, "when") == "before_enter") swap_panel();
  log_key(key, screen_name(*panel_));
  const PanelStep step = press(*panel_, key, scenario_.style, scenario_.burst);
  if (step.what == PanelStep::What::Redraw) request_frame();
  if (step.what == PanelStep::What::Decide) decide(step.answer);
}

void Session::picker_key(const Key& key) {
  log_key(key, "picker");
  Picker& picker = *picker_;
  if (key.name == "esc" || key.name == "ctrl-c") return choose_picker(kNoGhost);
  if (!picker.hotkeys.empty()) {
    const std::size_t at = key.text.size() == 1 ? picker.hotkeys.find(key.text) : std::string::npos;
    if (at != std::string::npos) choose_picker(at);
    return;
  }
  if (key.name == "down" && picker.wanted + 1 < picker.rows.size()) ++picker.wanted;
  if (key.name == "up" && picker.wanted > 0) --picker.wanted;
  request_frame();
  if (key.name == "enter") choose_picker(scenario_.burst == Burst::None ? picker.wanted : picker.drawn);
}

void Session::choose_picker(std::size_t row) {
  const Picker picker = *picker_;
  picker_.reset();
  state_ = State::Ready;
  request_frame();
  const std::string choice = row < picker.rows.size() ? picker.rows[row] : "closed";
  log_.write({{"picked", picker.title}, {"row", choice}});
  if (picker.look != "trust_all") return;
  if (row == 0 || row >= picker.rows.size()) return leave(1);
  trust_all_ = true;
  after_boot();
}

void Session::composer_key(const Key& key) {
  log_key(key, state_ == State::Boot ? "boot" : "composer");
  const bool idle = state_ == State::Input || state_ == State::Finished;
  request_frame();
  if (key.name == "char" || key.name == "paste") {
    typed_ += key.text;
  } else if (key.name == "backspace" && !typed_.empty()) {
    while (typed_.size() > 1 && (static_cast<unsigned char>(typed_.back()) & 0xC0U) == 0x80U) typed_.pop_back();
    typed_.pop_back();
  } else if (key.name == "ctrl-k" || key.name == "ctrl-u") {
    typed_.clear();
  } else if (key.name == "ctrl-c") {
    if (idle || state_ == State::Boot) return leave(130);
    interrupt();
  } else if (key.name == "ctrl-d" && typed_.empty() && idle) {
    leave(mismatch_ ? 97 : 0);
  } else if (key.name == "esc") {
    if (idle) {
      typed_.clear();
    } else {
      interrupt();
    }
  } else if (key.name == "enter") {
    submit_typed();
  }
}

// While a turn runs the message waits for its end.
void Session::submit_typed() {
  const std::string text = typed_;
  typed_.clear();
  if (!text.empty()) waiting_.push_back(text);
  submit_waiting();
}

void Session::submit_waiting() {
  while (state_ == State::Input && !waiting_.empty() && !exit_code_) {
    const std::string text = waiting_.front();
    waiting_.pop_front();
    submit(text);
  }
}

void Session::submit(const std::string& text) {
  if (text.empty()) return;
  log_.write({{"submitted", text}});
  if (text == "/quit" || text == "/exit") return leave(mismatch_ ? 97 : scenario_.exit_code);
  constexpr std::string_view kModel = "/model ";
  if (text.rfind(kModel, 0) == 0) {
    emit(wrap_words("Model changed to " + text.substr(kModel.size()), width()));
    return;
  }
  if (scenario_.wait_input && prompt_id_.is_null() && steps_.empty() && turn_at_ == 0 && !scenario_.steps.empty()) {
    return begin_turn(scenario_.steps, text);
  }
  if (turn_at_ < scenario_.turns.size()) return begin_turn(scenario_.turns[turn_at_++], text);
  begin_turn(Json::array({Json{{"type", "say"}, {"text", "You said: " + text}}}), text);
}

// Esc or Ctrl-C while something is going on: the turn ends, what is open is cancelled.
void Session::interrupt() {
  if (state_ == State::Boot) return;
  log_.write({{"interrupted", true}});
  tool_.kill();
  if (state_ == State::Tool) finish_tool();
  if (panel_) {
    queue_.push_front(panel_->prompt);
    panel_.reset();
  }
  cancel_outstanding();
  state_ = State::Ready;
}

}  // namespace kiro
