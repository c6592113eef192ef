// Every Kiro pane fixture P01 to P24, by id: what the screen is, and the keys a verdict would need.
#include "elicitation/panel_check.h"
#include "tests/elicitation/fixtures.h"

namespace oncelatch::elicitation {
namespace {

using policy::Verdict;
using testing::case_ids;
using testing::load_cases;
using testing::pane_text;

WantedPanel wanted_of(const Json& pane) {
  WantedPanel wanted;
  if (pane.contains("v3")) {
    wanted.call = call_text_of_resource(pane.at("v3").at(0).get<std::string>(), pane.at("v3").at(1).get<std::string>());
  } else {
    wanted.call = call_text_of_title(pane.at("title").get<std::string>());
  }
  for (const Json& kind : pane.at("options")) wanted.kinds.push_back(policy::option_kind(kind.get<std::string>()));
  return wanted;
}

std::string keys(const Screen& screen, const WantedPanel& wanted, Verdict verdict) {
  if (!check_screen(screen, wanted).empty()) return "refused";
  const std::size_t target = target_row(*screen.panel, verdict);
  std::string result;
  for (std::size_t at = screen.panel->focused; at != target; at += target > at ? 1 : std::size_t(-1)) {
    result += target > at ? "Down " : "Up ";
  }
  return result + "Enter";
}

class Panes : public ::testing::TestWithParam<std::string> {};

TEST_P(Panes, HasTheWantedOutcome) {
  const Json pane = load_cases("kiro-panes.json").at(GetParam());
  const Screen screen = read_screen(pane_text(pane));
  EXPECT_EQ(screen_kind_name(screen.kind), pane.at("kind").get<std::string>()) << screen.why;
  const WantedPanel wanted = wanted_of(pane);
  EXPECT_EQ(keys(screen, wanted, Verdict::accept), pane.at("accept").get<std::string>())
      << check_screen(screen, wanted);
  EXPECT_EQ(keys(screen, wanted, Verdict::decline), pane.at("decline").get<std::string>());
  if (pane.contains("why")) {
    EXPECT_EQ(check_screen(screen, wanted), pane.at("why").get<std::string>());
  }
}

TEST_P(Panes, AnotherTitleIsRefused) {
  const Json pane = load_cases("kiro-panes.json").at(GetParam());
  const Screen screen = read_screen(pane_text(pane));
  WantedPanel wanted = wanted_of(pane);
  for (const char* title :
       {"Running: rm -rf /", "Running: ", "Running: p", "Running: pw", "Shell pwd", "e", "Running: pwd -P"}) {
    wanted.call = call_text_of_title(title);
    if (std::string(title) == "Shell pwd" && screen.kind == ScreenKind::approval && screen.panel->call[0].text == title)
      continue;
    EXPECT_EQ(keys(screen, wanted, Verdict::accept), "refused") << title;
  }
}

TEST_P(Panes, CopyModeIsRefused) {
  ScreenText text = pane_text(load_cases("kiro-panes.json").at(GetParam()));
  text.in_mode = true;
  EXPECT_NE(read_screen(text).kind, ScreenKind::approval);
}

INSTANTIATE_TEST_SUITE_P(Kiro, Panes, ::testing::ValuesIn(case_ids("kiro-panes.json")),
                         [](const auto& id) { return id.param; });

}  // namespace
}  // namespace oncelatch::elicitation
