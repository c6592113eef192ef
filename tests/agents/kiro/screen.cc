#include "screen.h"

#include <algorithm>

namespace kiro {
namespace {

constexpr std::size_t kHistory = 400;

std::string joined(const Lines& lines, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < lines.size(); ++i) {
    if (i > from) text += "\r\n";
    text += lines[i];
  }
  return text;
}

}  // namespace

Screen::Screen(Terminal& terminal, bool synchronized_output)
    : terminal_(terminal), synchronized_(synchronized_output) {}

void Screen::start_at_bottom() {
  terminal_.write(repeated("\r\n", terminal_.rows()));
}

void Screen::emit(const Lines& lines) {
  pending_.insert(pending_.end(), lines.begin(), lines.end());
  history_.insert(history_.end(), lines.begin(), lines.end());
  if (history_.size() > kHistory) {
    history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(kHistory));
  }
}

std::string Screen::erase_frame() const {
  if (height_ == 0) return "\r";
  return "\r\x1b[2K" + repeated("\x1b[1A\x1b[2K", height_ - 1);
}

void Screen::put(std::string bytes) {
  if (synchronized_) bytes = "\x1b[?2026h" + bytes + "\x1b[?2026l";
  terminal_.write(bytes);
}

void Screen::draw(const Lines& frame) {
  const std::size_t rows = terminal_.rows();
  if (frame.size() > rows) return repaint(frame);
  std::string bytes = erase_frame();
  for (const std::string& line : pending_) bytes += line + "\r\n";
  pending_.clear();
  put(bytes + joined(frame, 0));
  height_ = frame.size();
}

void Screen::repaint(const Lines& frame) {
  pending_.clear();
  Lines all = history_;
  all.insert(all.end(), frame.begin(), frame.end());
  const std::size_t rows = terminal_.rows();
  std::string bytes = "\x1b[H\x1b[2J";
  if (all.size() < rows) bytes += repeated("\r\n", rows - all.size());
  put(bytes + joined(all, all.size() > rows ? all.size() - rows : 0));
  height_ = std::min(frame.size(), rows);
}

}  // namespace kiro
