#include "launcher/runner_commands.h"

#include <algorithm>

namespace oncelatch::launcher {
namespace {

constexpr std::string_view kBeforeBracket[] = {"##", "##vso", "##teamcity"};
constexpr std::string_view kBeforeColon[] = {"section_start", "section_end", "[8mha"};

bool is_printable(unsigned char byte) {
  return byte >= 0x20 && byte <= 0x7e;
}

bool begins_line(unsigned char byte) {
  return (byte >= '\n' && byte <= '\r') || (byte >= 0x1c && byte <= 0x1e);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr std::array<bool, 256> dull_bytes() {
  std::array<bool, 256> dull{};
  for (unsigned byte = 0x20; byte <= 0x7e; ++byte) dull[byte] = byte != ':' && byte != '[';
  return dull;
}

// Bytes that never make a command and change no state but the tail.
constexpr std::array<bool, 256> kDull = dull_bytes();

std::size_t dull_run(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && kDull[static_cast<unsigned char>(bytes[at])]) ++at;
  return at;
}

}  // namespace

void RunnerCommands::View::remember(std::string_view run) {
  if (run.size() > kTail) run.remove_prefix(run.size() - kTail);
  std::copy(tail_.begin() + static_cast<std::ptrdiff_t>(run.size()), tail_.end(), tail_.begin());
  std::transform(run.begin(), run.end(), tail_.end() - static_cast<std::ptrdiff_t>(run.size()), lower);
}

bool RunnerCommands::View::ends_with(std::string_view word) const {
  return std::string_view(tail_.data(), tail_.size()).ends_with(word);
}

void RunnerCommands::View::take_run(std::string_view run) {
  if (run.empty()) return;
  if (at_start_) at_start_ = colons_at_start_ == 0 && run.find_first_not_of(' ') == std::string_view::npos;
  colon_before_ = false;
  remember(run);
}

bool RunnerCommands::View::take_colon() {
  const bool is_second_pair = armed_ && colon_before_;
  colon_before_ = true;
  if (at_start_ && ++colons_at_start_ == 2) {
    at_start_ = false;
    // These two open the line; the pair that makes it a command begins after them.
    if (!armed_) colon_before_ = false;
    armed_ = true;
  }
  return is_second_pair;
}

bool RunnerCommands::View::take(char byte) {
  const std::string_view text(&byte, 1);
  bool is_command = false;
  if (byte == ':') {
    is_command = take_colon() || std::any_of(std::begin(kBeforeColon), std::end(kBeforeColon),
                                             [this](std::string_view word) { return ends_with(word); });
    remember(text);
  } else {
    is_command = byte == '[' && std::any_of(std::begin(kBeforeBracket), std::end(kBeforeBracket),
                                            [this](std::string_view word) { return ends_with(word); });
    take_run(text);
  }
  return is_command;
}

void RunnerCommands::View::end_line() {
  *this = View();
}

void RunnerCommands::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (sequence_ == Sequence::none) {
      const std::size_t run = dull_run(bytes);
      with_sequences_.take_run(bytes.substr(0, run));
      without_sequences_.take_run(bytes.substr(0, run));
      out.append(bytes.substr(0, run));
      bytes.remove_prefix(run);
      if (bytes.empty()) return;
    }
    step(static_cast<unsigned char>(bytes.front()), out);
    bytes.remove_prefix(1);
  }
}

void RunnerCommands::step(unsigned char byte, std::string& out) {
  if (begins_line(byte)) {
    line_byte(byte);
  } else {
    const bool in_ansi = in_sequence(byte);
    if (is_printable(byte)) {
      bool is_command = with_sequences_.take(static_cast<char>(byte));
      if (!in_ansi && without_sequences_.take(static_cast<char>(byte))) is_command = true;
      if (is_command) {
        out += kMark;
        ++found_;
      }
    }
  }
  out += static_cast<char>(byte);
}

void RunnerCommands::line_byte(unsigned char byte) {
  sequence_ = Sequence::none;
  for (View* view : {&with_sequences_, &without_sequences_}) {
    if (byte == '\n') {
      view->end_line();
    } else {
      view->begin_line();
    }
  }
}

bool RunnerCommands::in_sequence(unsigned char byte) {
  constexpr unsigned char kBell = 0x07;
  constexpr unsigned char kEscape = 0x1b;
  if (byte == kEscape) {
    sequence_ = Sequence::escape;
    return true;
  }
  switch (sequence_) {
    case Sequence::none:
      return false;
    case Sequence::escape:
      if (byte == '[') {
        sequence_ = Sequence::control;
      } else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_') {
        sequence_ = Sequence::string;
      } else if (byte < 0x20 || byte > 0x2f) {
        sequence_ = Sequence::none;
      }
      return true;
    case Sequence::control:
      if (byte >= 0x40 && byte <= 0x7e) sequence_ = Sequence::none;
      return true;
    case Sequence::string:
      if (byte == kBell) sequence_ = Sequence::none;
      return true;
  }
  return false;
}

}  // namespace oncelatch::launcher
