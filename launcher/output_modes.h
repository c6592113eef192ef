// What a program changed in a terminal and a person would stumble over when the program is gone: the list of the modes
// that may be set at all, which of them are set now, and the bytes that take them back.
//
//   OutputModes modes;
//   modes.set_mode(true, 1049, true);  // CSI ? 1049 h: true, it is in the list
//   modes.restore();                   // "\x1b[?1049l"
//
// Ownership: a value of three words. Threads: one. Failure: none; a mode outside the list is refused (false) and not
// remembered. After fork: yes.
#pragma once

#include <cstdint>
#include <string>

namespace oncelatch::launcher {

enum class OutputTrace : std::uint8_t {
  attributes,     // SGR
  charset_g0,     // ESC ( 0
  charset_g1,     // ESC ) 0
  shift_out,      // SO
  keypad,         // ESC =
  scroll_region,  // CSI r
  cursor_shape,   // CSI SP q
  key_reports,    // CSI > 4 m
  title,          // OSC 0, 1, 2
};

class OutputModes {
 public:
  // `is_private`: CSI ? NUMBER h/l. False: not in the list.
  bool set_mode(bool is_private, std::uint32_t number, bool on);
  void set(OutputTrace trace, bool changed);
  [[nodiscard]] bool is_set(OutputTrace trace) const;
  // The cursor goes back to where it was saved, and with it what was saved: any of that may be set again.
  void cursor_restored();
  // Takes back what is set and forgets it: a second call gives nothing.
  [[nodiscard]] std::string restore();

 private:
  void put(std::uint64_t bit, bool on);

  std::uint64_t now_ = 0;
  std::uint64_t ever_ = 0;
};

}  // namespace oncelatch::launcher
