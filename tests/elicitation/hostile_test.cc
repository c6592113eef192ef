// Thousands of seeded runs against a hostile virtual terminal. Always: no Enter of ours while the program itself stands
// on another row or another prompt than the verdict was for, and every run ends with a named outcome. A failing seed is
// printed; run it alone with ONCELATCH_HOSTILE_SEED=N. ONCELATCH_HOSTILE_RUNS sets the number of runs.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "tests/elicitation/session.h"

namespace oncelatch::elicitation {
namespace {

using policy::OptionKind;
using namespace testing;

class Hostile {
 public:
  explicit Hostile(std::uint64_t seed) : random_(seed), session_(40 + pick(161), 24 + pick(30)) {
    VirtualKiro& kiro = *session_.kiro;
    kiro.random.seed(seed + 1);
    kiro.times.frame = milliseconds(5 + static_cast<long>(pick(396)));
    kiro.times.torn = milliseconds(pick(12));
    kiro.torn_at = -1;
    kiro.times.read_delay = milliseconds(chance(0.3) ? pick(4000) : pick(200));
    kiro.margin = pick(4);
    kiro.call_details = chance(0.3);
    kiro.rule_above = chance(0.7);
    if (chance(0.15)) kiro.lose_key = 0.3;
    session_.effect = chance(0.5) ? Effect::allow : Effect::deny;
    kiro.transcript = {"\u2022 Working", "  1. notes.txt"};
    if (chance(0.5)) print_lies();
    trouble_ = std::array<double, 4>{0, 0.003, 0.01, 0.03}[pick(4)];
  }

  // Returns what went wrong, empty when nothing did.
  std::string run() {
    session_.start();
    watch_keys();
    plan_hostile_moments();
    show_next(true);
    const std::string first = session_.kiro->open->id;
    if (chance(0.3)) session_.kiro->move_focus(static_cast<int>(pick(4)));
    const Nanoseconds limit = session_.clock.monotonic() + std::chrono::seconds(120);
    while (session_.end_of(first) == nullptr && session_.clock.monotonic() < limit) {
      if (chance(trouble_)) disturb();
      restore();
      session_.step(milliseconds(20));
    }
    session_.run_for(std::chrono::seconds(1));
    if (session_.end_of(first) == nullptr) problem_ = "no outcome";
    if (problem_.empty() && !session_.kiro->person_input && !session_.mirror->next_deadline())
      problem_ = "input still held";
    outcome_ = session_.end_of(first) == nullptr ? "none" : *session_.end_of(first);
    return problem_;
  }
  [[nodiscard]] const std::string& outcome() const { return outcome_; }
  [[nodiscard]] bool pressed() const { return pressed_; }

 private:
  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
  bool chance(double share) { return std::uniform_real_distribution<>(0, 1)(random_) < share; }

  std::string command() {
    static const std::vector<std::string> commands{
        "pwd",
        "git status",
        "rm -rf build",
        "rm -rf b uild",
        "cargo test --workspace --all-features -- --nocapture --test-threads 1",
        "find . -name '*.txt' -not -path '*/.git/*' -exec grep -l \"needle in a haystack\" {} +",
        "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    return commands[pick(commands.size())];
  }

  std::vector<VirtualRow> rows(bool v3) {
    std::vector<VirtualRow> all =
        v3 ? std::vector<VirtualRow>{{"Allow", OptionKind::allow_once},
                                     {"Always allow", OptionKind::allow_always},
                                     {"Deny", OptionKind::reject_once},
                                     {"Always deny", OptionKind::reject_always}}
           : std::vector<VirtualRow>{{"Yes, single permission", OptionKind::allow_once},
                                     {"Trust, always allow in this session", OptionKind::allow_always},
                                     {"No (Tab to edit)", OptionKind::reject_once}};
    if (chance(0.3)) std::shuffle(all.begin(), all.end(), random_);
    if (chance(0.3))
      all.erase(std::find_if(all.begin(), all.end(),
                             [](const VirtualRow& row) { return row.kind == OptionKind::allow_always; }));
    return all;
  }

  VirtualPrompt next_prompt(bool same) {
    const bool v3 = chance(0.3);
    VirtualPrompt prompt{"r" + std::to_string(++number_), command(), v3, rows(v3)};
    if (same && last_) {
      prompt = *last_;
      prompt.id = "r" + std::to_string(number_);
    }
    last_ = prompt;
    return prompt;
  }

  void show_next(bool record) {
    const bool same = chance(0.5);
    session_.kiro->show(next_prompt(same), record);
  }

  // The agent prints what looks like our panel.
  void print_lies() {
    auto& transcript = session_.kiro->transcript;
    for (const char* line : {"\u2193 Shell pwd", " shell requires approval", "  \u276f Yes, single permission",
                             "   No (Tab to edit)", "\u2500\u2500\u2500\u2500\u2500\u2500",
                             " esc to close \u00b7 Tab to edit", " \u276f Yes, single permission"}) {
      if (chance(0.25)) transcript.emplace_back(line);
    }
  }

  // The prompt goes and another comes. Either the record tells at once (and the picture lags), or the picture shows it
  // at once.
  void swap(bool told_by_record) {
    VirtualKiro& kiro = *session_.kiro;
    if (!kiro.open) return;
    if (told_by_record) {
      chance(0.5) ? kiro.answer_elsewhere() : kiro.cancel();
      if (chance(0.8)) show_next(true);
      return;
    }
    kiro.answer_elsewhere(false);
    VirtualPrompt other = next_prompt(false);
    other.command += " --other";
    kiro.show(other, false);
    kiro.draw_now();
    last_.reset();
  }

  void plan_hostile_moments() {
    VirtualKiro& kiro = *session_.kiro;
    if (chance(0.4)) {
      kiro.after_capture = [this, at = 1 + static_cast<int>(pick(30)), told = chance(0.6)] {
        if (session_.kiro->captures == at) swap(told);
      };
    }
    if (chance(0.3)) {
      kiro.before_guard = [this, at = pick(4), count = std::size_t(0)]() mutable {
        if (count++ == at) swap(false);
      };
    }
  }

  void restore() {
    if (session_.clock.monotonic() < restore_at_) return;
    session_.kiro->copy_mode = session_.kiro->capture_fails = false;
  }

  void disturb() {
    VirtualKiro& kiro = *session_.kiro;
    switch (pick(9)) {
      case 0:
        kiro.person_types(Key::down);
        break;
      case 1:
        kiro.person_types(Key::up);
        break;
      case 2:
        kiro.person_types(Key::enter);
        break;
      case 3:
        kiro.copy_mode = true;
        restore_at_ = session_.clock.monotonic() + milliseconds(pick(700));
        break;
      case 4:
        kiro.resize(40 + pick(161), 24 + pick(30));
        break;
      case 5:
        swap(true);
        break;
      case 6:
        swap(false);
        break;
      case 7:
        kiro.capture_fails = true;
        restore_at_ = session_.clock.monotonic() + milliseconds(pick(700));
        break;
      case 8:
        kiro.transcript.emplace_back("\u2022 more text");
        if (kiro.open) kiro.move_focus(0);
        break;
    }
  }

  void watch_keys() {
    session_.kiro->before_key = [this](Key key) {
      if (key != Key::enter) return;
      pressed_ = true;
      const VirtualKiro& kiro = *session_.kiro;
      const OptionKind wanted =
          session_.delivering_verdict == Verdict::accept ? OptionKind::allow_once : OptionKind::reject_once;
      if (!kiro.open) {
        problem_ = "Enter without a prompt";
      } else if ("\"" + kiro.open->id + "\"" != session_.delivering_id) {
        problem_ = "Enter on another prompt: " + kiro.open->id;
      } else if (kiro.open->rows[kiro.focus].kind != wanted) {
        problem_ = "Enter on another row";
      }
    };
  }

  std::mt19937_64 random_;
  Session session_;
  std::optional<VirtualPrompt> last_;
  int number_ = 0;
  double trouble_ = 0;  // chance of a disturbance at each step
  Nanoseconds restore_at_{0};
  std::string problem_;
  std::string outcome_;
  bool pressed_ = false;
};

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(HostileTerminal, NeverPressesEnterOnAnythingElse) {
  const std::uint64_t runs = number_from("ONCELATCH_HOSTILE_RUNS", 2500);
  const std::uint64_t only = number_from("ONCELATCH_HOSTILE_SEED", 0);
  std::map<std::string, int> outcomes;
  std::uint64_t pressed = 0;
  for (std::uint64_t seed = only == 0 ? 1 : only; seed <= (only == 0 ? runs : only); ++seed) {
    Hostile hostile(seed);
    const std::string problem = hostile.run();
    ASSERT_EQ(problem, "") << "seed " << seed;
    ++outcomes[hostile.outcome()];
    pressed += hostile.pressed() ? 1 : 0;
  }
  for (const auto& [outcome, count] : outcomes) std::printf("%6d %s\n", count, outcome.c_str());
  // The property must not hold for lack of keys.
  if (only == 0) {
    EXPECT_GT(pressed, runs / 5);
  }
}

}  // namespace
}  // namespace oncelatch::elicitation
