// Takes the force out of lines that a CI runner would carry out: what a program prints in CI is a log, not orders.
//
//   RunnerCommands commands;
//   std::string out;
//   commands.feed(bytes, out);  // "::set-env name=PATH::/x\n" -> "::set-env name=PATH:|oncelatch|:/x\n"
//
// Every byte passes, in order and at once; kMark is put in before the last byte that makes a command one, so it is seen
// and not obeyed:
//
//   - anywhere, in any case, for some runners search the whole line: "##[", "##vso[", "##teamcity[", "section_start:",
//     "section_end:", "[8mha:";
//   - the second "::" of a line that begins with "::". One "::" alone (an address, a qualified name) is no command.
//
// Bytes that draw nothing don't hide a command: controls, all bytes from 0x80 (byte order marks, blanks and joiners
// that a runner's comparison skips) and, in a second view of the same bytes, whole ANSI sequences. So a line that opens
// with other than ASCII followed by two "::" gets a mark too. A line begins after LF, CR, VT, FF and the separators
// 0x1c to 0x1e; only LF ends one for sure. A "::" behind a time stamp or other text is left alone: no runner takes it.
//
// One for each descriptor that is written, behind whatever joins or shortens output (OutputFilter, stderr into stdout):
// two halves of a command that only meet behind it are not seen.
//
// Ownership: a value of some 100 bytes; nothing is held back, so there is nothing to flush. Threads: one. Failure:
// none; binary data passes. After fork: yes. It is freestanding of exceptions and RTTI: the light program has it too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncelatch::launcher {

class RunnerCommands {
 public:
  static constexpr std::string_view kMark = "|oncelatch|";

  void feed(std::string_view bytes, std::string& out);
  // Commands that were found.
  [[nodiscard]] std::uint64_t found() const { return found_; }

 private:
  // The line as a runner reads it: printable ASCII only.
  class View {
   public:
    void take_run(std::string_view run);
    // True: with this byte the line would be a command.
    bool take(char byte);
    void begin_line() { at_start_ = true, colons_at_start_ = 0; }
    void end_line();

   private:
    bool take_colon();
    [[nodiscard]] bool ends_with(std::string_view word) const;
    void remember(std::string_view run);

    static constexpr std::size_t kTail = 16;
    std::array<char, kTail> tail_{};  // the last bytes, in lower case
    bool at_start_ = true;            // nothing but blanks so far
    std::uint8_t colons_at_start_ = 0;
    bool armed_ = false;  // the line begins with "::"
    bool colon_before_ = false;
  };
  enum class Sequence : std::uint8_t { none, escape, control, string };

  void step(unsigned char byte, std::string& out);
  // Whether the byte belongs to an ANSI sequence.
  bool in_sequence(unsigned char byte);
  void line_byte(unsigned char byte);

  View with_sequences_;
  View without_sequences_;
  Sequence sequence_ = Sequence::none;
  std::uint64_t found_ = 0;
};

}  // namespace oncelatch::launcher
