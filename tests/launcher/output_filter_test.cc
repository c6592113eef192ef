#include "launcher/output_filter.h"

#include <gtest/gtest.h>

#include "tests/launcher/filtered.h"

namespace oncelatch::launcher {
namespace {

using namespace std::string_literals;

constexpr const char* kBad = "\xef\xbf\xbd";

void expect_same(const std::string& input) {
  EXPECT_EQ(filtered(input), input);
}

// Text on both sides stays, the sequence goes, and is counted.
void expect_dropped(const std::string& sequence) {
  OutputFilter filter;
  std::string out;
  filter.feed("left" + sequence + "right", out);
  EXPECT_EQ(out, "leftright") << ::testing::PrintToString(sequence);
  EXPECT_GT(filter.dropped().sequences, 0U) << ::testing::PrintToString(sequence);
  EXPECT_EQ(filter.held(), 0U);
}

TEST(OutputFilter, TextPasses) {
  for (const char* text :
       {"plain text\r\n\ttab\b \v\f", "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\xa7 \xc2\xa0",
        "\xe2\x80\xae bidi stays text \xe2\x80\xac", "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"}) {
    expect_same(text);
  }
}

TEST(OutputFilter, InvalidBytesAreShownAsReplaced) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"a\xff"s + "b", "a"s + kBad + "b"},
      {"\xc3(", kBad + "("s},
      {"\xe2\x82(", kBad + "("s},
      {"\xe0\x80\x80", kBad + ""s + kBad + kBad},             // overlong
      {"\xed\xa0\x80", kBad + ""s + kBad + kBad},             // surrogate
      {"\xf4\x90\x80\x80", kBad + ""s + kBad + kBad + kBad},  // beyond Unicode
      {"\xc0\xaf", kBad + ""s + kBad},
      {"\xf0\x9f\x1b[1mx", kBad + "\x1b[1mx"s},
      {"\xf0\x9f\nx", kBad + "\nx"s},
  };
  for (const auto& [input, output] : table) EXPECT_EQ(filtered(input), output) << ::testing::PrintToString(input);
}

TEST(OutputFilter, C1ControlsAreNeverControls) {
  for (int c1 = 0x80; c1 <= 0x9f; ++c1) {
    const std::string raw(1, static_cast<char>(c1));
    EXPECT_EQ(filtered("a" + raw + "52;c;eA==\a"), "a"s + kBad + "52;c;eA==\a") << c1;
    EXPECT_EQ(filtered("a\xc2" + raw + "6n"), "a"s + kBad + "6n") << c1;
  }
  expect_same("\xc2\xa0");  // the first that is text
}

TEST(OutputFilter, ControlsThatDoNothingAreDropped) {
  EXPECT_EQ(filtered("a\0b\x01\x05\x06\x10\x11\x13\x18\x1a\x1c\x1f\x7f"s + "c"), "abc");  // 0x05 is the answer-back
  expect_same("\x0e\x0f");
}

TEST(OutputFilter, BellsAreLimited) {
  OutputFilter filter;
  std::string out;
  filter.feed(std::string(1000, '\a'), out);
  EXPECT_EQ(out, std::string(OutputFilter::kBells, '\a'));
  EXPECT_EQ(filter.dropped().bells, 1000 - OutputFilter::kBells);
  filter.refill_bells();
  out.clear();
  filter.feed("\a", out);
  EXPECT_EQ(out, "\a");
}

TEST(OutputFilter, DrawingPasses) {
  for (const char* sequence : {"\x1b[m",
                               "\x1b[0m",
                               "\x1b[1;31;48;5;17m",
                               "\x1b[38:2::1:2:3;4:3m",
                               "\x1b[H",
                               "\x1b[12;40H",
                               "\x1b[3A",
                               "\x1b[B",
                               "\x1b[C",
                               "\x1b[4D",
                               "\x1b[E",
                               "\x1b[F",
                               "\x1b[7G",
                               "\x1b[I",
                               "\x1b[Z",
                               "\x1b[J",
                               "\x1b[1J",
                               "\x1b[2J",
                               "\x1b[K",
                               "\x1b[2K",
                               "\x1b[3L",
                               "\x1b[M",
                               "\x1b[4P",
                               "\x1b[2@",
                               "\x1b[5X",
                               "\x1b[2S",
                               "\x1b[2T",
                               "\x1b[5d",
                               "\x1b[9e",
                               "\x1b[3a",
                               "\x1b[3`",
                               "\x1b[2;3f",
                               "\x1b[40b",
                               "\x1b[r",
                               "\x1b[2;20r",
                               "\x1b[s",
                               "\x1b[u",
                               "\x1b"
                               "7",
                               "\x1b"
                               "8",
                               "\x1b"
                               "D",
                               "\x1b"
                               "E",
                               "\x1bM",
                               "\x1b=",
                               "\x1b>",
                               "\x1b(B",
                               "\x1b(0",
                               "\x1b)0",
                               "\x1b(A",
                               "\x1b[!p",
                               "\x1b[2 q",
                               "\x1b[ q",
                               "\x1b[?1049h",
                               "\x1b[?1049l",
                               "\x1b[?25l",
                               "\x1b[?12;25h",
                               "\x1b[?1h",
                               "\x1b[?7l",
                               "\x1b[?2004h",
                               "\x1b[?1004h",
                               "\x1b[?1000;1006h",
                               "\x1b[?1003h",
                               "\x1b[?2026h",
                               "\x1b[4h",
                               "\x1b[34h",
                               "\x1b[>4;2m",
                               "\x1b[>4m"}) {
    expect_same("x"s + sequence + "y");
  }
}

TEST(OutputFilter, QueriesAndReportsAreDropped) {
  for (const char* sequence : {"\x1b[c",
                               "\x1b[0c",
                               "\x1b[>c",
                               "\x1b[>0c",
                               "\x1b[=c",
                               "\x1bZ",
                               "\x1b[5n",
                               "\x1b[6n",
                               "\x1b[?6n",
                               "\x1b[?15n",
                               "\x1b[?996n",
                               "\x1b[x",
                               "\x1b[1x",
                               "\x1b[?2026$p",
                               "\x1b[4$p",
                               "\x1b[>q",
                               "\x1b[>0q",
                               "\x1b[11t",
                               "\x1b[14t",
                               "\x1b[18t",
                               "\x1b[21t",
                               "\x1b[22;0;0t",
                               "\x1b[1;2;3;4;5;6*y",
                               "\x1b[?u",
                               "\x1b[>1u",
                               "\x1b[<u",
                               "\x1b[?4m",
                               "\x1b[?1;1;0S",
                               "\x1b[2$w",
                               "\x1b['|",
                               "\x1b[1;1'z",
                               "\x1b[&w",
                               "\x1b[+x",
                               "\x1b[?1$p"}) {
    expect_dropped(sequence);
  }
}

TEST(OutputFilter, WhatReachesFurtherIsDropped) {
  for (const char* sequence : {"\x1b[i",
                               "\x1b[5i",
                               "\x1b[?5i",
                               "\x1b[3J",
                               "\x1b[3g",
                               "\x1bH",
                               "\x1b#8",
                               "\x1b%@",
                               "\x1b%G",
                               "\x1b F",
                               "\x1b G",
                               "\x1bN",
                               "\x1bO",
                               "\x1bn",
                               "\x1b~",
                               "\x1bl",
                               "\x1b*0",
                               "\x1b+0",
                               "\x1b(K",
                               "\x1b$B",
                               "\x1b[2h",
                               "\x1b[12l",
                               "\x1b[20h",
                               "\x1b[?2h",
                               "\x1b[?3h",
                               "\x1b[?69h",
                               "\x1b[?80h",
                               "\x1b[?1001h",
                               "\x1b[?1034h",
                               "\x1b[?2031h",
                               "\x1b[?2048h",
                               "\x1b[?1049s",
                               "\x1b[?1049r",
                               "\x1b[1;2;3;4;5T",
                               "\x1b[1;80s",
                               "\x1b[61\"p",
                               "\x1b[1$}",
                               "\x1b[1;1;5;5$z",
                               "\x1b[>2;1m",
                               "\x1b[>4;3m",
                               "\x1b[1+q",
                               "\x1b[99999b",
                               "\x1b[2147483648C",
                               "\x1b[=1h",
                               "\x1b[1;2;3H",
                               "\x1b[1?25h",
                               "\x1b[0 1q",
                               "\x1b[7 q",
                               "\x1b[1:2H",
                               "\x1b[h",
                               "\x1b[?h",
                               "\x1b[?;l"}) {
    expect_dropped(sequence);
  }
}

TEST(OutputFilter, StringsAreDroppedWithTheirEnd) {
  for (const char* sequence : {"\x1b]4;1;?\a",
                               "\x1b]7;file:///etc\a",
                               "\x1b]9;4;1\a",
                               "\x1b]10;?\x1b\\",
                               "\x1b]99;;hi\x1b\\",
                               "\x1b]104\a",
                               "\x1b]133;A\a",
                               "\x1b]777;notify;a;b\a",
                               "\x1b]50;?\a",
                               "\x1b]\a",
                               "\x1b];x\a",
                               "\x1b]02;x\a",
                               "\x1b]3;a=b\a",
                               "\x1b]l title\x1b\\",
                               "\x1bPq#0;2;0;0;0#0~~\x1b\\",
                               "\x1bP0;1|17/41\x1b\\",
                               "\x1bP1$r0m\x1b\\",
                               "\x1bXstart of string\x1b\\",
                               "\x1b^privacy\x1b\\",
                               "\x1bkscreen title\x1b\\",
                               "\x1b]52;c;eA==\x18",
                               "\x1bPabc\x1a",
                               "\x1bP\xe2\x9c\x9c\x1b\\"}) {
    expect_dropped(sequence);
  }
}

TEST(OutputFilter, ModesOutsideTheListAreTakenOutOfTheirSequence) {
  EXPECT_EQ(filtered("\x1b[?3;25;1001;1049h"), "\x1b[?25;1049h");
  EXPECT_EQ(filtered("\x1b[2;4l"), "\x1b[4l");
}

TEST(OutputFilter, ControlsInASequenceAreObeyedFirst) {
  EXPECT_EQ(filtered("a\x1b[2\nJb"), "a\n\x1b[2Jb");
  EXPECT_EQ(filtered("\x1b\r[6nb"), "\rb");
}

TEST(OutputFilter, BrokenSequencesLoseOnlyThemselves) {
  EXPECT_EQ(filtered("\x1b[12\x18z"), "z");
  EXPECT_EQ(filtered("\x1b[12\x1b[1mz"), "\x1b[1mz");
  EXPECT_EQ(filtered("\x1b[12\xc3\xa9z"), "\xc3\xa9z");
  EXPECT_EQ(filtered("\x1b\xff"), kBad);
  EXPECT_EQ(filtered("\x1b]0;a\x1b[1mz"), "\x1b[1mz");
  EXPECT_EQ(filtered("\x1b]0;a\x1b\x1b[1mz"), "\x1b[1mz");
  EXPECT_EQ(filtered("\x1b]0;a\x1b\xff"), kBad);
  EXPECT_EQ(filtered("\x1b[31\x1b\x1b\x1b[32mz"), "\x1b[32mz");
}

TEST(OutputFilter, OverlongSequencesAreDroppedWhole) {
  expect_dropped("\x1b[" + std::string(OutputFilter::kLongestSequence + 1, '1') + "m");
  expect_dropped("\x1b[" + std::string(OutputFilter::kLongestSequence + 1, '0') + "m");
  expect_dropped("\x1b[" + std::string(100, ';') + "m");
  expect_dropped("\x1b" + std::string(10'000, '(') + "B");
  expect_dropped("\x1b]2;" + std::string(OutputFilter::kLongestOsc, 'a') + "\a");
}

TEST(OutputFilter, E075_ClipboardTitleReportsAndGraphicsAreDropped) {
  for (const char* sequence :
       {"\x1b]52;c;ZWNobyBoaQ==\a", "\x1b]52;c;?\x1b\\", "\x1b]52;p;!\a", "\x1b[21t", "\x1b[20t", "\x1bP$qm\x1b\\",
        "\x1bP$q\"p\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_Gf=100,a=T;AAAA\x1b\\", "\x1b_Gi=1,a=q;AAAA\x1b\\",
        "\x1b]1337;File=name=eA==;inline=0:AAAA\a", "\x1b]1337;ClearScrollback\a"}) {
    expect_dropped(sequence);
  }
  // A multiplexer's pass-through carries nothing out; a clear screen is no more than that.
  EXPECT_EQ(filtered("a\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\b"), "ab");
  EXPECT_EQ(filtered("a\x1bPtmux;\x1b\x1b[6n\x1b\\b"), "ab");
}

TEST(OutputFilter, E075_TitlesAreKeptHarmless) {
  EXPECT_EQ(filtered("\x1b]0;build\a"), "\x1b[22;0t\x1b]0;build\a");
  EXPECT_EQ(filtered("\x1b]2;one\x1b\\\x1b]1;two\a"), "\x1b[22;0t\x1b]2;one\a\x1b]1;two\a");
  EXPECT_EQ(restored("\x1b]2;one\a"), "\x1b[23;0t");
}

TEST(OutputFilter, E077_TitlesCanBeNoMoreThanAShortLine) {
  const std::string begin = "\x1b[22;0t\x1b]2;";
  EXPECT_EQ(filtered("\x1b]2;Allow?\r\n [approved]\x01\x7f\a"), begin + "Allow? [approved]\a");
  EXPECT_EQ(filtered("\x1b]2;a\xe2\x80\xae\xe2\x80\x8b\xe2\x81\xa6\xc2\x85\xef\xbb\xbf\xf3\xa0\x81\x81z\a"),
            begin + "az\a");
  EXPECT_EQ(filtered("\x1b]2;a\xff\xc2z\a"), begin + "a" + kBad + kBad + "z\a");
  // The escape ends the title, and what follows is output like any other.
  EXPECT_EQ(filtered("\x1b]2;Allow?\r\n\x1b[2K [approved]\a"), "\x1b[2K [approved]\a");
  std::string wide;
  for (std::size_t i = 0; i < 200; ++i) wide += "\xe6\x97\xa5";
  EXPECT_EQ(filtered("\x1b]2;" + wide + "\a"), begin + wide.substr(0, 3 * OutputFilter::kLongestTitle) + "\a");
  expect_dropped("\x1b]2;" + std::string(10'000, 'a') + "\a");
}

TEST(OutputFilter, E080_LinksAreStrippedToTheirText) {
  for (const char* target : {"file:///home/u/x.desktop", "https://other.example/", "javascript:x", ""}) {
    for (const char* end : {"\a", "\x1b\\"}) {
      const std::string link = "\x1b]8;id=1;"s + target + end + "https://github.com/org\x1b]8;;" + end;
      EXPECT_EQ(filtered("see " + link + "!"), "see https://github.com/org!");
    }
  }
}

}  // namespace
}  // namespace oncelatch::launcher
