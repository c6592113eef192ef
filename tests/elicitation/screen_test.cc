// Screens made to be misread: near-equal commands, wrapped text, printed panels.
#include "base/untrusted.h"
#include "elicitation/panel_check.h"

namespace oncelatch::elicitation {
namespace {

using policy::OptionKind;
using Rows = std::vector<std::string>;

const std::vector<OptionKind> three{OptionKind::allow_once, OptionKind::allow_always, OptionKind::reject_once};

Rows panel_rows(const Rows& call, const std::string& header = " shell requires approval") {
  Rows rows = call;
  const std::string rule = "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500";
  const Rows rest{rule,
                  header,
                  " \u276f Yes, single permission",
                  "   Trust, always allow in this session",
                  "   No (Tab to edit)",
                  rule,
                  " esc to close \u00b7 \u2191\u2193 to navigate"};
  rows.insert(rows.end(), rest.begin(), rest.end());
  return rows;
}

std::string check(const Rows& call, const std::string& title, std::size_t columns = 40) {
  return check_screen(read_screen({panel_rows(call), columns, false}), {call_text_of_title(title), three});
}

constexpr const char* something_else = "the prompt on the screen is about something else";

TEST(CallText, SameCommandOnOneRow) {
  EXPECT_EQ(check({"\u2193 Shell rm a b"}, "Running: rm a b"), "");
  EXPECT_EQ(check({"\u2193 rm a b"}, "Running: rm a b"), "");
  EXPECT_EQ(check({"\u25cf Shell rm a b"}, "Running: rm a b"), "");
}

TEST(CallText, BlanksAreNeverDropped) {
  EXPECT_EQ(check({"\u2193 Shell rm -rf ab"}, "Running: rm -rf a b"), something_else);
  EXPECT_EQ(check({"\u2193 Shell rm -rf a b"}, "Running: rm -rf ab"), something_else);
  EXPECT_EQ(check({"\u2193 Shell rm 'a  b'"}, "Running: rm 'a b'"), something_else);
}

TEST(CallText, NoPrefixSuffixOrSubstring) {
  EXPECT_EQ(check({"\u2193 Shell pwd && rm x"}, "Running: pwd"), something_else);
  EXPECT_EQ(check({"\u2193 Shell rm x && pwd"}, "Running: pwd"), something_else);
  EXPECT_EQ(check({"\u2193 Shell pw"}, "Running: pwd"), something_else);
}

TEST(CallText, BreakAtABlankOnlyWhereTheWordHadNoRoom) {
  // 40 columns: 8 + 27 cells are taken, "second" has no room.
  EXPECT_EQ(
      check({"\u2193 Shell aaaaaaaaaaaaaaaaaaaaaaaaaaa", "  second"}, "Running: aaaaaaaaaaaaaaaaaaaaaaaaaaa second"),
      "");
  // Room enough: these rows are two lines of a command, not one that was wrapped.
  EXPECT_EQ(check({"\u2193 Shell aaa", "  second"}, "Running: aaa second"), something_else);
}

TEST(CallText, BreakInsideAWordOnlyWhereTheRowIsFull) {
  EXPECT_EQ(
      check({"\u2193 Shell aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "  bbb"}, "Running: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbb"),
      "");
  EXPECT_EQ(check({"\u2193 Shell aaaa", "  bbb"}, "Running: aaaabbb"), something_else);
}

TEST(CallText, ALongerCommandDoesNotPassForItsFirstRow) {
  const std::string first = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  EXPECT_EQ(check({"\u2193 Shell " + first, "  && rm -rf x"}, "Running: " + first), something_else);
  EXPECT_EQ(check({"\u2193 Shell " + first, "  \u2570 x; rm -rf x"}, "Running: " + first), something_else);
  EXPECT_EQ(check({"\u2193 Shell " + first, "  esc to cancel"}, "Running: " + first), something_else);
  EXPECT_EQ(check({"\u2193 Shell ls", "  rm -rf x"}, "Running: ls"), something_else);
  EXPECT_EQ(check({"\u2193 Shell ls", "  esc to cancel", "  rm -rf x"}, "Running: ls"), something_else);
}

TEST(CallText, SeveralLinesAndUnseenCharactersNeverMatch) {
  for (const char* title : {"Running: ls\nrm x", "Running: ls\r", "Running: l\u200bs", "Running: \u202els",
                            "Running: l\x1bs", "Running: l\ts"}) {
    EXPECT_FALSE(call_text_of_title(title).unshowable.empty()) << escape_for_display(title, 50);
    EXPECT_NE(check({"\u2193 Shell ls"}, title), "");
  }
}

TEST(CallText, ACommandNamedLikeAnotherToolIsNotThatToolsCall) {
  EXPECT_EQ(check({"\u2193 Shell rm"}, "Running: Shell rm"), something_else);
  EXPECT_EQ(check({"\u2193 Write /x"}, "Running: Write /x"), something_else);
}

TEST(CallText, LooksThatCouldBeConfused) {
  const auto alike = [](const char* a, const char* b) {
    return could_look_the_same(print_of(call_text_of_title(a)), print_of(call_text_of_title(b)));
  };
  EXPECT_TRUE(alike("Running: rm a b", "Running: rm ab"));
  EXPECT_TRUE(alike("Running: ls", "Running: ls\n\u2570 x"));
  EXPECT_FALSE(alike("Running: ls", "Running: ls"));
  EXPECT_FALSE(alike("Running: git status", "Running: git status -s"));
}

TEST(Screen, AnotherWaitingCallOfTheToolIsUnclear) {
  EXPECT_EQ(check({"\u2193 Shell rm -rf x", "\u2193 Shell pwd"}, "Running: pwd"),
            "several calls wait on the screen; which one is asked about is unclear");
  EXPECT_EQ(check({"\u2193 Read x", "\u2193 Shell pwd"}, "Running: pwd"), "");
}

TEST(Screen, TheHeaderMustNameTheTool) {
  const Rows rows = panel_rows({"\u2193 Shell pwd"}, " write requires approval");
  EXPECT_EQ(check_screen(read_screen({rows, 40, false}), {call_text_of_title("Running: pwd"), three}), something_else);
}

TEST(Screen, UnknownRowsAreNotActedOn) {
  for (const std::string& odd : {std::string("   Maybe"), std::string("   Yes, single permission"), std::string("")}) {
    Rows rows = panel_rows({"\u2193 Shell pwd"});
    rows.insert(rows.begin() + 4, odd);
    EXPECT_NE(read_screen({rows, 40, false}).kind, ScreenKind::approval) << odd;
  }
}

TEST(Screen, ChoicesMustBeThoseOfTheRequest) {
  const Screen screen = read_screen({panel_rows({"\u2193 Shell pwd"}), 40, false});
  const std::vector<OptionKind> turned{OptionKind::reject_once, OptionKind::allow_always, OptionKind::allow_once};
  EXPECT_NE(check_screen(screen, {call_text_of_title("Running: pwd"), turned}), "");
  EXPECT_NE(
      check_screen(screen, {call_text_of_title("Running: pwd"), {OptionKind::allow_once, OptionKind::reject_once}}),
      "");
}

TEST(Screen, AHeaderPrintedInsideAV3CommandIsNotTheHeader) {
  const std::string rule = "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500";
  const Rows rows{rule,
                  " Do something requires approval",
                  " shell \u2192 x requires approval",
                  " shell \u2192 ls",
                  " \u276f Allow",
                  "   Deny",
                  rule,
                  " esc to close"};
  const WantedPanel wanted{call_text_of_resource("shell", "ls"), {OptionKind::allow_once, OptionKind::reject_once}};
  EXPECT_NE(check_screen(read_screen({rows, 80, false}), wanted), "");
}

TEST(Screen, AMenuRowPrintedInsideAV3CommandIsNotAChoice) {
  const std::string rule = "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500";
  const Rows rows{rule,
                  " Do something requires approval",
                  " shell \u2192 ls",
                  "   Allow",
                  " \u276f Allow",
                  "   Deny",
                  rule,
                  " esc to close"};
  EXPECT_NE(read_screen({rows, 80, false}).kind, ScreenKind::approval);
}

TEST(Screen, APrintedCopyOfThePanelIsNoticed) {
  ScreenText text{panel_rows({"\u2193 Shell pwd"}), 40, false};
  const Screen screen = read_screen(text);
  ASSERT_EQ(screen.kind, ScreenKind::approval);
  EXPECT_EQ(check_single(text, *screen.panel), "");
  text.rows.insert(text.rows.begin(), " \u276f Yes, single permission");
  EXPECT_NE(check_single(text, *screen.panel), "");
}

TEST(Screen, EmptyAndTinyScreens) {
  EXPECT_EQ(read_screen({{}, 0, false}).kind, ScreenKind::nothing);
  EXPECT_EQ(read_screen({{"", ""}, 1, false}).kind, ScreenKind::nothing);
  EXPECT_EQ(read_screen({{"esc to close"}, 12, false}).kind, ScreenKind::picker);
}

}  // namespace
}  // namespace oncelatch::elicitation
