#include "launcher/output_filter.h"

#include "launcher/output_text.h"

namespace oncelatch::launcher {
namespace {

constexpr std::string_view kKeepTitle = "\x1b[22;0t";
constexpr std::string_view kSoftReset = "\x1b[!p\x1b[H\x1b[2J";

void append_escape(std::string& out, std::string_view collected, char final) {
  out += '\x1b';
  out += collected;
  out += final;
}

}  // namespace

void OutputFilter::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (state_ == OutputState::ground && character_size_ == 0) {
      const std::size_t run = plain_run(bytes);
      out.append(bytes.substr(0, run));
      bytes.remove_prefix(run);
      if (bytes.empty()) return;
    }
    step(static_cast<unsigned char>(bytes.front()), out);
    bytes.remove_prefix(1);
  }
}

std::string OutputFilter::restore() {
  state_ = OutputState::ground;
  character_size_ = 0;
  begin();
  return modes_.restore();
}

void OutputFilter::step(unsigned char byte, std::string& out) {
  if (character_size_ != 0 && continue_character(byte, out)) return;
  const OutputStep taken = output_step(state_, byte);
  if (taken.action == OutputAction::reprocess) {
    ++dropped_.sequences;
    begin();
    state_ = taken.next;
    step(byte, out);
    return;
  }
  act(taken.action, byte, out);
  state_ = taken.next;
}

void OutputFilter::act(OutputAction action, unsigned char byte, std::string& out) {
  switch (action) {
    case OutputAction::none:
    case OutputAction::reprocess:
      break;
    case OutputAction::text:
      text(byte, out);
      break;
    case OutputAction::control:
      control(byte, out);
      break;
    case OutputAction::begin:
      begin();
      break;
    case OutputAction::collect:
      collect(static_cast<char>(byte));
      break;
    case OutputAction::escape_dispatch:
      escape(static_cast<char>(byte), out);
      begin();
      break;
    case OutputAction::csi_dispatch:
      control_sequence(static_cast<char>(byte), out);
      begin();
      break;
    case OutputAction::osc_dispatch:
      title(out);
      begin();
      break;
    case OutputAction::drop:
      ++dropped_.sequences;
      begin();
      break;
  }
}

void OutputFilter::begin() {
  sequence_size_ = 0;
  overlong_ = false;
}

void OutputFilter::collect(char byte) {
  const std::size_t most = state_ == OutputState::osc ? kLongestOsc : kLongestSequence;
  if (sequence_size_ == most) {
    overlong_ = true;
  } else {
    sequence_[sequence_size_++] = byte;
  }
}

void OutputFilter::replace(std::string& out) {
  out += kReplacementCharacter;
  ++dropped_.bytes;
}

void OutputFilter::text(unsigned char byte, std::string& out) {
  if (byte < 0x80) {
    out += static_cast<char>(byte);
  } else {
    begin_character(byte, out);
  }
}

void OutputFilter::begin_character(unsigned char byte, std::string& out) {
  character_length_ = character_length(byte);
  if (character_length_ == 0) {
    replace(out);
    return;
  }
  character_[0] = static_cast<char>(byte);
  character_size_ = 1;
}

// False: `byte` isn't part of the character, which was replaced; it is still to be taken.
bool OutputFilter::continue_character(unsigned char byte, std::string& out) {
  const auto lead = static_cast<unsigned char>(character_[0]);
  if (!continues_character(lead, character_size_, byte)) {
    character_size_ = 0;
    replace(out);
    return false;
  }
  character_[character_size_++] = static_cast<char>(byte);
  if (character_size_ < character_length_) return true;
  character_size_ = 0;
  if (is_c1(lead, byte)) {
    replace(out);
  } else {
    out.append(character_.data(), character_length_);
  }
  return true;
}

void OutputFilter::control(unsigned char byte, std::string& out) {
  constexpr unsigned char kBell = 0x07;
  constexpr unsigned char kShiftOut = 0x0e;
  constexpr unsigned char kShiftIn = 0x0f;
  if (byte == kBell) {
    if (bells_ == 0) {
      ++dropped_.bells;
      return;
    }
    --bells_;
  } else if (byte == kShiftOut || byte == kShiftIn) {
    modes_.set(OutputTrace::shift_out, byte == kShiftOut);
  } else if (byte < 0x08 || byte > 0x0d) {
    return;
  }
  out += static_cast<char>(byte);
}

void OutputFilter::escape(char final, std::string& out) {
  if (sequence_size_ != 0) {
    if (!charset(final, out)) ++dropped_.sequences;
    return;
  }
  switch (final) {
    case 'c':
      reset(out);
      return;
    case '\\':  // the end of a string that was dropped
      return;
    case '=':
    case '>':
      modes_.set(OutputTrace::keypad, final == '=');
      break;
    case '8':
      modes_.cursor_restored();
      break;
    case '7':
    case 'D':
    case 'E':
    case 'M':
      break;
    default:
      ++dropped_.sequences;
      return;
  }
  append_escape(out, {}, final);
}

bool OutputFilter::charset(char final, std::string& out) {
  const bool is_g0 = collected() == "(";
  if (!is_g0 && collected() != ")") return false;
  if (final != 'B' && final != '0' && final != 'A') return false;
  modes_.set(is_g0 ? OutputTrace::charset_g0 : OutputTrace::charset_g1, final != 'B');
  append_escape(out, collected(), final);
  return true;
}

void OutputFilter::reset(std::string& out) {
  out += modes_.restore();
  out += kSoftReset;
}

void OutputFilter::control_sequence(char final, std::string& out) {
  const std::optional<OutputSequence> sequence = read_output_sequence(collected(), final);
  bool passed = false;
  if (sequence && !overlong_) {
    if (only_draws(*sequence)) {
      remember(*sequence);
      out += "\x1b[";
      out += collected();
      out += final;
      passed = true;
    } else {
      passed = modes(*sequence, out) || key_reports(*sequence, out);
    }
  }
  if (!passed) ++dropped_.sequences;
}

// Each mode for itself: what isn't in the list is left out.
bool OutputFilter::modes(const OutputSequence& sequence, std::string& out) {
  const bool is_private = sequence.prefix == '?';
  if (sequence.final != 'h' && sequence.final != 'l') return false;
  if ((sequence.prefix != 0 && !is_private) || sequence.intermediate != 0 || sequence.subparameters) return false;
  std::string kept;
  for (std::size_t index = 0; index < sequence.count; ++index) {
    if (!modes_.set_mode(is_private, sequence.values[index], sequence.final == 'h')) continue;
    if (!kept.empty()) kept += ';';
    kept += std::to_string(sequence.values[index]);
  }
  if (kept.empty()) return false;
  out += is_private ? "\x1b[?" : "\x1b[";
  out += kept;
  out += sequence.final;
  return true;
}

// CSI > 4 ; 0-2 m and CSI > 4 m: how the terminal writes keys with modifiers.
bool OutputFilter::key_reports(const OutputSequence& sequence, std::string& out) {
  if (!sequence.is('>', 0, 'm') || sequence.subparameters) return false;
  if (sequence.count < 1 || sequence.count > 2 || sequence.values[0] != 4 || sequence.values[1] > 2) return false;
  modes_.set(OutputTrace::key_reports, sequence.values[1] != 0);
  out += "\x1b[";
  out += collected();
  out += 'm';
  return true;
}

void OutputFilter::remember(const OutputSequence& sequence) {
  switch (sequence.final) {
    case 'm':
      modes_.set(OutputTrace::attributes, sequence.count > 1 || sequence.values[0] != 0);
      break;
    case 'r':
      modes_.set(OutputTrace::scroll_region, sequence.count != 0);
      break;
    case 'q':
      modes_.set(OutputTrace::cursor_shape, sequence.values[0] != 0);
      break;
    case 'u':
      modes_.cursor_restored();
      break;
    default:
      break;
  }
}

void OutputFilter::title(std::string& out) {
  const std::string_view text = collected();
  const bool is_title = text.size() >= 2 && text[0] >= '0' && text[0] <= '2' && text[1] == ';';
  if (!is_title || overlong_) {
    ++dropped_.sequences;
    return;
  }
  if (!modes_.is_set(OutputTrace::title)) out += kKeepTitle;
  modes_.set(OutputTrace::title, true);
  out += "\x1b]";
  out += text.substr(0, 2);
  out += clean_title(text.substr(2), kLongestTitle);
  out += '\a';
}

}  // namespace oncelatch::launcher
