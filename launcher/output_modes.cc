#include "launcher/output_modes.h"

#include <array>
#include <cstddef>

namespace oncelatch::launcher {
namespace {

struct Mode {
  bool is_private;
  std::uint16_t number;
  bool initially;
};

// The order is the order of taking back: drawing is let through, then the main screen is back, then the rest.
constexpr Mode kModes[] = {
    {true, 2026, false},                                         // synchronised output
    {true, 1049, false},                                         // alternate screen, in its three forms
    {true, 1047, false}, {true, 47, false},   {true, 6, false},  // origin
    {true, 7, true},                                             // wrap
    {false, 4, false},                                           // insert
    {true, 5, false},                                            // reverse screen (the visible bell)
    {true, 12, false},                                           // blinking cursor
    {false, 34, true},                                           // underline cursor, of TERM=screen
    {true, 25, true},                                            // cursor
    {true, 1, false},                                            // application cursor keys
    {true, 9, false},                                            // mouse, its encodings, wheel as keys
    {true, 1000, false}, {true, 1002, false}, {true, 1003, false}, {true, 1005, false}, {true, 1006, false},
    {true, 1015, false}, {true, 1016, false}, {true, 1007, false}, {true, 1004, false},  // focus reports
    {true, 2004, false},                                                                 // bracketed paste
};
constexpr std::size_t kModeCount = sizeof kModes / sizeof kModes[0];
constexpr std::size_t kScreenModes = 4;  // the first ones, before the scroll region
constexpr std::uint32_t kSaveCursor = 1048;
constexpr std::size_t kTraces = 9;
static_assert(kModeCount + kTraces <= 64);

// In the order of OutputTrace. The region goes back with the cursor kept where it is.
constexpr std::array<const char*, kTraces> kUndo = {
    "\x1b[0m", "\x1b(B", "\x1b)B", "\x0f", "\x1b>", "\0337\x1b[r\0338", "\x1b[0 q", "\x1b[>4m", "\x1b[23;0t",
};

constexpr std::uint64_t bit_of(std::size_t index) {
  return std::uint64_t{1} << index;
}

constexpr std::uint64_t bit_of(OutputTrace trace) {
  return bit_of(kModeCount + static_cast<std::size_t>(trace));
}

constexpr std::size_t index_of(bool is_private, std::uint32_t number) {
  for (std::size_t index = 0; index < kModeCount; ++index) {
    if (kModes[index].is_private == is_private && kModes[index].number == number) return index;
  }
  return kModeCount;
}

constexpr std::uint64_t kSavedWithCursor = bit_of(OutputTrace::attributes) | bit_of(OutputTrace::charset_g0) |
                                           bit_of(OutputTrace::charset_g1) | bit_of(OutputTrace::shift_out) |
                                           bit_of(index_of(true, 6)) | bit_of(index_of(true, 7));

bool is_alternate_screen(std::uint32_t number) {
  return number == 1049 || number == 1047 || number == 47;
}

void append_mode_reset(std::string& out, const Mode& mode) {
  out += mode.is_private ? "\x1b[?" : "\x1b[";
  out += std::to_string(mode.number);
  out += mode.initially ? 'h' : 'l';
}

}  // namespace

void OutputModes::put(std::uint64_t bit, bool on) {
  if (on) {
    now_ |= bit;
    ever_ |= bit;
  } else {
    now_ &= ~bit;
  }
}

bool OutputModes::set_mode(bool is_private, std::uint32_t number, bool on) {
  if (is_private && number == kSaveCursor) {
    if (!on) cursor_restored();
    return true;
  }
  const std::size_t index = index_of(is_private, number);
  if (index == kModeCount) return false;
  put(bit_of(index), on != kModes[index].initially);
  if (is_private && is_alternate_screen(number) && !on) cursor_restored();
  return true;
}

void OutputModes::set(OutputTrace trace, bool changed) {
  put(bit_of(trace), changed);
}

bool OutputModes::is_set(OutputTrace trace) const {
  return (now_ & bit_of(trace)) != 0;
}

void OutputModes::cursor_restored() {
  now_ |= ever_ & kSavedWithCursor;
}

std::string OutputModes::restore() {
  std::string out;
  for (std::size_t index = 0; index < kModeCount; ++index) {
    // Leaving the alternate screen puts back the cursor's own, so that must be taken back after it.
    if (index == kScreenModes && is_set(OutputTrace::scroll_region)) {
      out += kUndo[static_cast<std::size_t>(OutputTrace::scroll_region)];
    }
    if ((now_ & bit_of(index)) == 0) continue;
    append_mode_reset(out, kModes[index]);
    if (is_alternate_screen(kModes[index].number)) cursor_restored();
  }
  for (std::size_t trace = 0; trace < kTraces; ++trace) {
    const auto which = static_cast<OutputTrace>(trace);
    if (which != OutputTrace::scroll_region && is_set(which)) out += kUndo[trace];
  }
  now_ = ever_ = 0;
  return out;
}

}  // namespace oncelatch::launcher
