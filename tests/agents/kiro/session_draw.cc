#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace kiro {
namespace {

std::string working_directory() {
  char* const now = getcwd(nullptr, 0);
  const std::string path = now == nullptr ? "?" : now;
  std::free(now);
  return path;
}

}  // namespace

std::size_t Session::width() const {
  if (width_override_ > 0) return static_cast<std::size_t>(width_override_);
  if (scenario_.width > 0) return static_cast<std::size_t>(scenario_.width);
  return terminal_.columns();
}

bool Session::panel_visible() const {
  return panel_ && panel_->shown;
}

Composer Session::composer() const {
  static const std::string directory = working_directory();
  Composer picture;
  picture.text = typed_;
  picture.agent = options_.agent;
  picture.model = options_.model;
  picture.directory = directory;
  const bool idle = state_ == State::Input || state_ == State::Finished;
  picture.mood = state_ == State::Boot ? Composer::Mood::Boot : idle ? Composer::Mood::Idle : Composer::Mood::Busy;
  picture.seconds = (monotonic_micros() - busy_since_) / 1'000'000;
  return picture;
}

Lines Session::frame() const {
  const Style& style = scenario_.style;
  if (panel_ && monotonic_micros() >= panel_->show_at) {
    return panel_view({&panel_->prompt, panel_->wanted, panel_->typed, torn_ ? panel_->drawn.row : kNoGhost}, style,
                      width());
  }
  if (picker_) return picker_view(*picker_, style, width());
  Lines rows;
  if (running_) rows = call_rows(style.ascii ? "o" : "●", *running_, style, width());
  append(rows, composer_view(composer(), style, width()));
  return rows;
}

void Session::request_frame() {
  if (frame_due_ == 0) frame_due_ = monotonic_micros() + std::max(0L, source_.between(scenario_.frame_ms)) * 1000;
}

void Session::draw_if_due() {
  if (frame_due_ == 0 || monotonic_micros() < frame_due_) return;
  if (draw_torn()) return;
  draw_now();
}

// A frame that still shows the old focus mark beside the new one; the clean frame follows.
bool Session::draw_torn() {
  if (torn_ || !panel_visible() || panel_->wanted.level != Level::Menu) return false;
  if (panel_->wanted.row == panel_->drawn.row || !source_.happens(scenario_.torn_frames)) return false;
  torn_ = true;
  screen_.draw(frame());
  frame_due_ = 0;
  request_frame();
  return true;
}

void Session::draw_now() {
  torn_ = false;
  frame_due_ = 0;
  screen_.draw(frame());
  after_frame();
}

void Session::after_frame() {
  if (picker_) picker_->drawn = picker_->wanted;
  const bool busy = state_ == State::Pause || state_ == State::Tool;
  if (busy && !panel_) frame_due_ = monotonic_micros() + 1'000'000;  // the seconds count up
  if (!panel_ || monotonic_micros() < panel_->show_at) return;
  const bool moved = panel_->shown && panel_->drawn.row != panel_->wanted.row;
  panel_->drawn = panel_->wanted;
  if (moved) log_.write({{"focus", panel_->prompt.id}, {"row", focused_row(*panel_, scenario_.style)}});
  if (!panel_->shown) log_.write({{"shown", panel_->prompt.id}});
  panel_->shown = true;
  const Json& swap = member_of(panel_->prompt.step, "swap");
  const std::string when = text_of(swap, "when");
  const bool now = when == "after_shown" || (when == "after_focus" && panel_->drawn.row != 0);
  if (!now || panel_->swap_armed) return;
  panel_->swap_armed = true;
  const long serial = panel_->serial;
  after(number_of(swap, "after_ms", 0), [this, serial] {
    if (panel_ && panel_->serial == serial) swap_panel();
  });
}

}  // namespace kiro
