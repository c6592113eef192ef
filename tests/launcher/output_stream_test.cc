// What the filter remembers: modes to take back, and what it holds between two pieces.
#include <gtest/gtest.h>

#include <random>

#include "tests/launcher/filtered.h"

namespace oncelatch::launcher {
namespace {

using namespace std::string_literals;

TEST(OutputFilter, E079_EveryModeIsTakenBackAfterAKill) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"\x1b[?1049h", "\x1b[?1049l"},
      {"\x1b[?1047h", "\x1b[?1047l"},
      {"\x1b[?47h", "\x1b[?47l"},
      {"\x1b[?25l", "\x1b[?25h"},
      {"\x1b[?1000h", "\x1b[?1000l"},
      {"\x1b[?9h", "\x1b[?9l"},
      {"\x1b[?1002h", "\x1b[?1002l"},
      {"\x1b[?1003h", "\x1b[?1003l"},
      {"\x1b[?1005h", "\x1b[?1005l"},
      {"\x1b[?1006h", "\x1b[?1006l"},
      {"\x1b[?1015h", "\x1b[?1015l"},
      {"\x1b[?1016h", "\x1b[?1016l"},
      {"\x1b[?1007h", "\x1b[?1007l"},
      {"\x1b[?1004h", "\x1b[?1004l"},
      {"\x1b[?2004h", "\x1b[?2004l"},
      {"\x1b[?2026h", "\x1b[?2026l"},
      {"\x1b[?1h", "\x1b[?1l"},
      {"\x1b[?5h", "\x1b[?5l"},
      {"\x1b[?6h", "\x1b[?6l"},
      {"\x1b[?7l", "\x1b[?7h"},
      {"\x1b[?12h", "\x1b[?12l"},
      {"\x1b[4h", "\x1b[4l"},
      {"\x1b[34l", "\x1b[34h"},
      {"\x1b[1;31m", "\x1b[0m"},
      {"\x1b(0", "\x1b(B"},
      {"\x1b)0", "\x1b)B"},
      {"\x0e", "\x0f"},
      {"\x1b=", "\x1b>"},
      {"\x1b[4 q", "\x1b[0 q"},
      {"\x1b[>4;1m", "\x1b[>4m"},
  };
  for (const auto& [set, undo] : table) {
    EXPECT_EQ(restored("text" + set + "text"), undo) << ::testing::PrintToString(set);
    EXPECT_EQ(restored(set + undo), "") << ::testing::PrintToString(set);
    EXPECT_EQ(filtered(undo), undo);
  }
  EXPECT_EQ(restored("\x1b[2;9r"),
            "\x1b"
            "7\x1b[r\x1b"
            "8");
  EXPECT_EQ(restored("\x1b[2;9r\x1b[r"), "");
}

TEST(OutputFilter, E079_TheScreenComesBackInOrder) {
  EXPECT_EQ(restored("\x1b[?2004h\x1b[?1049h\x1b[1m\x1b[3;9r\x1b[?1000;1006h\x1b[?25l\x1b[?2026h"),
            "\x1b[?2026l\x1b[?1049l\x1b"
            "7\x1b[r\x1b"
            "8\x1b[?25h\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[0m");
  OutputFilter filter;
  std::string out;
  filter.feed("\x1b[?1049h\x1b[12", out);  // killed within a sequence: it never went out
  EXPECT_EQ(out, "\x1b[?1049h");
  EXPECT_EQ(filter.restore(), "\x1b[?1049l");
  EXPECT_EQ(filter.restore(), "");
  EXPECT_EQ(filter.held(), 0U);
}

TEST(OutputFilter, E079_WhatWasSavedWithTheCursorIsRemembered) {
  EXPECT_EQ(restored("\x1b[7m\x1b"
                     "7\x1b[m\x1b"
                     "8"),
            "\x1b[0m");
  EXPECT_EQ(restored("\x1b(0\x1b[s\x1b(B\x1b[u"), "\x1b(B");
  EXPECT_EQ(restored("\x1b[?7l\x1b[?1048h\x1b[?7h\x1b[?1048l"), "\x1b[?7h");
}

TEST(OutputFilter, FullResetIsASoftOne) {
  EXPECT_EQ(filtered("a\x1b"
                     "cb"),
            "a\x1b[!p\x1b[H\x1b[2Jb");
  EXPECT_EQ(filtered("\x1b[?1049h\x1b"
                     "c"),
            "\x1b[?1049h\x1b[?1049l\x1b[!p\x1b[H\x1b[2J");
  EXPECT_EQ(restored("\x1b[?1049h\x1b"
                     "c"),
            "");
}

const std::string& everything() {
  static const std::string text =
      "caf\xc3\xa9 "
      "\xf0\x9f\x90\xa7\xff\xc2\x9b\x9b\xe2\x82\x1b[1;31mred\x1b[m\x1b]0;ti\xc3\xa9tle\x1b\\\x1b]52;c;eA==\a"
      "\x1b[?3;25l\x1b[?1049h\x1bPq\x1b\\\x1b_G\x1b\\\x1b(0\x0eq\x0f\x1b(B\x1b[6n\x1b]8;;file:///x\alink\x1b]8;;\a"
      "\x1b[2\nJ\x1b[>4;2m\x1b[2;5r\x1b"
      "c\x1bPtmux;\x1b\x1b[c\x1b\\\r\n\x1b[12\x18\x1b]0;x\x1b[K\xed\xa0\x80 end\xf0\x9f"s;
  return text;
}

struct Whole {
  std::string out;
  std::string undo;
};

Whole in_pieces(const std::string& input, const std::vector<std::size_t>& cuts) {
  OutputFilter filter;
  Whole whole;
  std::size_t at = 0;
  for (std::size_t cut : cuts) {
    filter.feed(std::string_view(input).substr(at, cut - at), whole.out);
    at = cut;
  }
  filter.feed(std::string_view(input).substr(at), whole.out);
  whole.undo = filter.restore();
  return whole;
}

TEST(OutputFilter, AnyCuttingGivesTheSame) {
  const std::string& input = everything();
  const Whole whole = in_pieces(input, {});
  EXPECT_NE(whole.out, input);
  for (std::size_t first = 0; first <= input.size(); ++first) {
    for (std::size_t second = first; second <= input.size(); ++second) {
      const Whole cut = in_pieces(input, {first, second});
      ASSERT_EQ(cut.out, whole.out) << first << ' ' << second;
      ASSERT_EQ(cut.undo, whole.undo) << first << ' ' << second;
    }
  }
  std::vector<std::size_t> each(input.size());
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = i;
  EXPECT_EQ(in_pieces(input, each).out, whole.out);
}

// Bytes from a small set, so that sequences come about.
std::string noise(std::mt19937& random, std::size_t size) {
  static const std::string alphabet =
      "\x1b\x1b\x1b[[]]P_^X\\?><=;:0124589mhlrJcnqptub()B kG!$\a\n\x18\x80\x9b\xc2\xe2\xf0\xff\0a"s;
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += alphabet[random() % alphabet.size()];
  return bytes;
}

TEST(OutputFilter, AnyCuttingOfNoiseGivesTheSame) {
  std::mt19937 random(75);
  for (int round = 0; round < 3000; ++round) {
    const std::string input = noise(random, 120);
    const std::size_t cut = random() % input.size();
    ASSERT_EQ(in_pieces(input, {cut}).out, in_pieces(input, {}).out) << ::testing::PrintToString(input) << cut;
  }
}

// Cut anywhere, what went out is a beginning of what goes out in the end, and no sequence in it is half done.
TEST(OutputFilter, CutOffAnywhereItLeavesNothingOpen) {
  const std::string& input = everything();
  const std::string whole = filtered(input);
  for (std::size_t size = 0; size <= input.size(); ++size) {
    const std::string part = filtered(input.substr(0, size));
    ASSERT_EQ(whole.compare(0, part.size(), part), 0) << size;
    const std::size_t escape = part.rfind('\x1b');
    if (escape == std::string::npos) continue;
    ASSERT_GE(part.size(), escape + 2) << size;
    const char kind = part[escape + 1];
    if (kind == '[') {
      ASSERT_NE(part.find_first_not_of("0123456789;:<=>?! ", escape + 2), std::string::npos) << size;
    }
    if (kind == '(' || kind == ')') {
      ASSERT_GE(part.size(), escape + 3) << size;
    }
    if (kind == ']') {
      ASSERT_NE(part.find('\a', escape), std::string::npos) << size;
    }
  }
}

TEST(OutputFilter, E078_OneEndlessLineIsNotHeld) {
  OutputFilter filter;
  const std::string chunk(65'536, 'x');
  std::string out;
  std::size_t total = 0;
  for (int i = 0; i < 4096; ++i) {  // 256 MB
    out.clear();
    filter.feed(chunk, out);
    total += out.size();
    ASSERT_EQ(filter.held(), 0U);
  }
  EXPECT_EQ(total, chunk.size() * 4096);
}

TEST(OutputFilter, E078_EndlessStringsAndSequencesAreEatenInBoundedMemory) {
  for (const char* start : {"\x1b]52;c;", "\x1b]0;", "\x1bP", "\x1b_G", "\x1b^", "\x1bX", "\x1bk", "\x1b[1", "\x1b("}) {
    OutputFilter filter;
    const bool is_string = start[1] != '[' && start[1] != '(';
    const std::string chunk(65'536, start[1] == '(' ? '(' : '1');
    std::string out;
    filter.feed("a"s + start, out);
    for (int i = 0; i < 200; ++i) {
      filter.feed(chunk, out);
      ASSERT_LE(filter.held(), OutputFilter::kLongestOsc + 3);
    }
    filter.feed(is_string ? "\x1b\\b" : "mb", out);
    EXPECT_EQ(out, "ab") << ::testing::PrintToString(start);
    EXPECT_LE(sizeof filter, 2048U);
  }
}

}  // namespace
}  // namespace oncelatch::launcher
