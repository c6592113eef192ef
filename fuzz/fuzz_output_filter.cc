// A program's output, filtered: any cutting gives the same, what comes out is UTF-8 of harmless sequences only, each of
// them whole, and what takes back the modes passes the filter itself. The same bytes as a CI log: nothing is lost, and
// no runner's word is left.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "launcher/output_filter.h"
#include "launcher/runner_commands.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using oncelatch::launcher::OutputFilter;
using oncelatch::launcher::RunnerCommands;

constexpr std::string_view kKeepTitle = "\x1b[22;0t";
constexpr std::string_view kTakeTitleBack = "\x1b[23;0t";

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_in(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// Length of the sequence at the front, which the terminal must not answer or obey beyond drawing.
std::size_t harmless_control(std::string_view text) {
  if (text.starts_with(kKeepTitle) || text.starts_with(kTakeTitleBack)) return kKeepTitle.size();
  const std::size_t final = text.find_first_not_of("0123456789;:<=>?! ", 2);
  require(final != std::string_view::npos);
  const std::string_view inside = text.substr(2, final - 2);
  require(is_in(text[final], "@ABCDEFGHIKLMPSTXZJ`abdefhlmpqrsu"));
  if (inside.find_first_of("<=>?! ") != std::string_view::npos) require(is_in(text[final], "hlmpq"));
  if (text[final] == 'q') require(inside.ends_with(' ') && inside.find('>') == std::string_view::npos);
  if (text[final] == 'p') require(inside == "!");
  if (text[final] == 'u' || text[final] == 's') require(inside.empty());
  if (text[final] == 'J') require(inside.find('3') == std::string_view::npos);
  return final + 1;
}

std::size_t harmless_sequence(std::string_view text) {
  require(text.size() >= 2);
  switch (text[1]) {
    case '[':
      return harmless_control(text);
    case '(':
    case ')':
      require(text.size() >= 3 && is_in(text[2], "B0A"));
      return 3;
    case ']': {
      const std::size_t end = text.find('\a');
      require(end != std::string_view::npos && text.size() > 4 && is_in(text[2], "012") && text[3] == ';');
      for (char c : text.substr(2, end - 2)) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
      require(end <= 4 + 4 * OutputFilter::kLongestTitle);
      return end + 1;
    }
    default:
      require(is_in(text[1], "78DEM=>"));
      return 2;
  }
}

std::size_t character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    require(lead >= 0x20 ? lead != 0x7f : is_in(text[0], "\a\b\t\n\v\f\r\x0e\x0f"));
    return 1;
  }
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  require(lead >= 0xc2 && text.size() >= length);
  for (std::size_t i = 1; i < length; ++i) require((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80);
  require(lead != 0xc2 || static_cast<unsigned char>(text[1]) >= 0xa0);
  return length;
}

void check_harmless(std::string_view text) {
  while (!text.empty()) text.remove_prefix(text[0] == '\x1b' ? harmless_sequence(text) : character(text));
}

void check_filter(std::string_view input, std::size_t cut) {
  OutputFilter whole;
  std::string out;
  whole.feed(input, out);
  check_harmless(out);
  require(whole.held() <= OutputFilter::kLongestOsc + 3);

  OutputFilter pieces;
  std::string joined;
  pieces.feed(input.substr(0, cut), joined);
  for (char byte : input.substr(cut)) pieces.feed(std::string_view(&byte, 1), joined);
  require(joined == out && pieces.dropped().sequences == whole.dropped().sequences);

  const std::string undo = whole.restore();
  require(undo == pieces.restore() && whole.restore().empty());
  check_harmless(undo);
}

std::string without(std::string text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) text.erase(at, word.size());
  return text;
}

// As the strictest runner reads a line: trimmed, "::" at its front, another one later.
bool is_command_line(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  return start != std::string_view::npos && line.substr(start).starts_with("::") &&
         line.find("::", start + 2) != std::string_view::npos;
}

void check_lines(std::string_view log, std::string_view ends) {
  while (!log.empty()) {
    const std::size_t end = log.find_first_of(ends);
    require(!is_command_line(log.substr(0, end)));
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
  }
}

void check_commands(std::string_view input, std::size_t cut) {
  RunnerCommands whole;
  std::string out;
  whole.feed(input, out);
  for (const char* word : {"##[", "##vso[", "##teamcity[", "section_start:", "section_end:"}) {
    require(out.find(word) == std::string::npos);
  }
  check_lines(out, "\n");
  check_lines(out, "\r\n");
  if (input.find(RunnerCommands::kMark) == std::string_view::npos && whole.found() < 64) {
    require(without(out, RunnerCommands::kMark) == input);
  }
  RunnerCommands pieces;
  std::string joined;
  pieces.feed(input.substr(0, cut), joined);
  pieces.feed(input.substr(cut), joined);
  require(joined == out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_filter(input, data[0] % size);
  check_commands(input, data[0] % size);
  return 0;
}
