#include "launcher/output_sequence.h"

namespace oncelatch::launcher {
namespace {

// Final bytes without prefix and intermediate: characters, cursor, erasing, lines, scrolling.
constexpr std::string_view kDrawing = "@ABCDEFGHIKLMPSXZ`adef";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool add_digit(std::uint32_t& value, char digit) {
  value = value * 10 + static_cast<std::uint32_t>(digit - '0');
  return value <= kGreatestParameter;
}

bool read_parameters(std::string_view text, OutputSequence& sequence) {
  if (text.empty()) return true;
  sequence.count = 1;
  for (char c : text) {
    if (is_digit(c)) {
      if (!add_digit(sequence.values[sequence.count - 1], c)) return false;
      continue;
    }
    if (c == ':') sequence.subparameters = true;
    if (sequence.count == kMostParameters) return false;
    ++sequence.count;
  }
  return true;
}

bool draws_plainly(const OutputSequence& sequence) {
  switch (sequence.final) {
    case 'J':  // 3 takes the scrollback, which isn't the program's
      return sequence.count <= 1 && sequence.values[0] <= 2;
    case 'T':  // with more parameters it's mouse tracking
      return sequence.count <= 1;
    case 'b':
      return sequence.count <= 1 && sequence.values[0] <= kMostRepeats;
    case 'r':
      return sequence.count <= 2;
    case 's':
    case 'u':
      return sequence.count == 0;
    default:
      return kDrawing.find(sequence.final) != std::string_view::npos && sequence.count <= 2;
  }
}

}  // namespace

std::optional<OutputSequence> read_output_sequence(std::string_view collected, char final) {
  OutputSequence sequence;
  sequence.final = final;
  if (!collected.empty() && collected.front() >= '<' && collected.front() <= '?') {
    sequence.prefix = collected.front();
    collected.remove_prefix(1);
  }
  const std::size_t intermediates = collected.find_first_not_of("0123456789:;");
  if (intermediates != std::string_view::npos) {
    if (collected.size() - intermediates > 1) return std::nullopt;
    sequence.intermediate = collected[intermediates];
    collected = collected.substr(0, intermediates);
  }
  if (!read_parameters(collected, sequence)) return std::nullopt;
  return sequence;
}

bool only_draws(const OutputSequence& sequence) {
  if (sequence.final == 'm') return sequence.prefix == 0 && sequence.intermediate == 0;
  if (sequence.subparameters) return false;
  if (sequence.is(0, ' ', 'q')) return sequence.count <= 1 && sequence.values[0] <= 6;  // cursor shape
  if (sequence.is(0, '!', 'p')) return sequence.count == 0;                             // soft reset
  return sequence.prefix == 0 && sequence.intermediate == 0 && draws_plainly(sequence);
}

}  // namespace oncelatch::launcher
