// Between what a confined program prints and a person's terminal: lets through what draws, drops what reaches further
// or makes the terminal answer, and knows how to bring the terminal back.
//
//   OutputFilter filter;
//   std::string out;
//   filter.feed(bytes, out);   // as often as there are bytes; any cutting gives the same output
//   out += filter.restore();   // once, when the program is gone
//
// Passes: UTF-8 text, BS HT LF VT FF CR SO SI, BEL (kBells until refill_bells), ESC 7 8 D E M = >, the charsets B, 0
// and A as G0 and G1, the control sequences of OutputSequence and the modes of OutputModes, "modify other keys", and
// titles (OSC 0 1 2): without controls, invisible and bidirectional format characters, cut to kLongestTitle characters;
// longer than kLongestOsc bytes they are dropped. Before the first title the terminal is told to keep the one it has.
// ESC c (full reset) becomes restore(), a soft reset and an empty screen.
//
// Dropped: every other sequence, whole, with what ends it. So no clipboard (OSC 52), files, images or notifications
// (OSC 9, 99, 777, 1337, DCS, APC), palette, working directory, links (OSC 8: their text stays), reports, queries,
// answer-back, printing, keyboard programming, 8-bit modes, other charsets, tab stops, full-size resets, terminal
// multiplexers' pass-through. A string that never ends is eaten for as long as it comes. Bytes that are no UTF-8, and
// C1 controls in one byte or in two, become U+FFFD: whatever encoding the terminal believes in, it sees no introducer
// that wasn't written here. Format characters within text are left as they are; who shows text to an approver escapes
// it (base/untrusted.h).
//
// Nothing collected is passed on as it came but the digits of an understood sequence, and a sequence goes out whole or
// not at all: the terminal is never left in the middle of one.
//
// Ownership: a value; `out` is appended to, the caller empties it and so decides how much is held (at most three bytes
// a byte fed, and some 200 for ESC c and for a title). Threads: one. Failure: none. After fork: yes. It is freestanding
// of exceptions and RTTI: the light program has it too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/output_modes.h"
#include "launcher/output_sequence.h"
#include "launcher/output_states.h"

namespace oncelatch::launcher {

class OutputFilter {
 public:
  static constexpr std::size_t kLongestSequence = 256;
  static constexpr std::size_t kLongestOsc = 1024;
  static constexpr std::size_t kLongestTitle = 80;
  static constexpr std::uint32_t kBells = 4;

  struct Dropped {
    std::uint64_t sequences = 0;
    std::uint64_t bells = 0;
    std::uint64_t bytes = 0;  // shown as U+FFFD
  };

  void feed(std::string_view bytes, std::string& out);
  // To be called once a second or so, by whoever has a clock.
  void refill_bells() { bells_ = kBells; }
  [[nodiscard]] std::string restore();
  [[nodiscard]] const Dropped& dropped() const { return dropped_; }
  // Bytes of an unfinished sequence or character; never more than kLongestOsc + 3.
  [[nodiscard]] std::size_t held() const { return sequence_size_ + character_size_; }

 private:
  void step(unsigned char byte, std::string& out);
  void act(OutputAction action, unsigned char byte, std::string& out);
  void begin();
  void collect(char byte);
  void text(unsigned char byte, std::string& out);
  void begin_character(unsigned char byte, std::string& out);
  bool continue_character(unsigned char byte, std::string& out);
  void replace(std::string& out);
  void control(unsigned char byte, std::string& out);
  void escape(char final, std::string& out);
  bool charset(char final, std::string& out);
  void reset(std::string& out);
  void control_sequence(char final, std::string& out);
  bool modes(const OutputSequence& sequence, std::string& out);
  bool key_reports(const OutputSequence& sequence, std::string& out);
  void remember(const OutputSequence& sequence);
  void title(std::string& out);
  [[nodiscard]] std::string_view collected() const { return {sequence_.data(), sequence_size_}; }

  std::array<char, kLongestOsc> sequence_{};
  std::size_t sequence_size_ = 0;
  bool overlong_ = false;
  OutputState state_ = OutputState::ground;

  std::array<char, 4> character_{};  // an unfinished UTF-8 character
  std::uint8_t character_size_ = 0;
  std::uint8_t character_length_ = 0;

  std::uint32_t bells_ = kBells;
  OutputModes modes_;
  Dropped dropped_;
};

}  // namespace oncelatch::launcher
