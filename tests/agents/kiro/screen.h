// An ink-like renderer: a live frame at the end of the output that is erased and drawn again, and
// transcript text that is written once above it.
//
//   screen.emit({"• hello"});        // goes out with the next frame
//   screen.draw(frame_lines);
//
// Borrows the terminal, which must live longer. Lines must already fit the width: nothing is
// wrapped here. Not thread-safe.
#pragma once

#include "terminal.h"
#include "text.h"

namespace kiro {

class Screen {
 public:
  Screen(Terminal& terminal, bool synchronized_output);

  void start_at_bottom();
  void emit(const Lines& lines);
  void draw(const Lines& frame);
  void repaint(const Lines& frame);  // after a resize: the whole screen from the transcript's tail

 private:
  [[nodiscard]] std::string erase_frame() const;
  void put(std::string bytes);

  Terminal& terminal_;
  bool synchronized_;
  std::size_t height_ = 0;  // rows of the frame on the screen
  Lines pending_;           // transcript rows that wait for the next frame
  Lines history_;           // the transcript's tail
};

}  // namespace kiro
