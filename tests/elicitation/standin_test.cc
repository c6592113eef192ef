// The whole path with a real tmux and the stand-in agent: record, policy, guarded keys, confirmation.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/clock.h"
#include "elicitation/mirror.h"
#include "elicitation/tmux_server.h"

namespace oncelatch::elicitation {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* scenario = R"({"steps":[
  {"type":"say","text":"Hello. The menu will look like this:","delay_ms":20},
  {"type":"prompt","command":"ls -la"},
  {"type":"prompt","command":"ls -la"},
  {"type":"prompt","path":"greeting.txt","content":"hi there\n"},
  {"type":"prompt","command":"find . -name '*.txt' -not -path '*/.git/*' -exec grep -l 'needle in a haystack' {} +"}],
  "stay":true})";

class FreeGate final : public InputGate {
 public:
  [[nodiscard]] Nanoseconds last_person_input() const override { return Nanoseconds(0); }
  [[nodiscard]] bool quiet() override { return true; }
  void expect_own_key(Key) override {}
  void own_key_not_sent(Key) override {}
};

class Reports final : public policy::DecisionRecorder, public MirrorListener {
 public:
  Status request_seen(const policy::PromptId&, const policy::PermissionRequest&) override { return {}; }
  Status decided(const policy::PromptId&, const policy::PermissionRequest&, const policy::Decision&,
                 policy::Decider) override {
    return {};
  }
  Status delivering(const policy::PromptId&, policy::Verdict, policy::Decider, const std::string&) override {
    return {};
  }
  Status ended(const policy::PromptId&, policy::Outcome outcome, const std::string& option,
               const std::string& detail) override {
    ends.push_back(std::string(policy::outcome_name(outcome)) + " " + option + detail);
    return {};
  }
  void decided(const policy::PromptId& prompt, const policy::PermissionRequest&, const policy::Decision&,
               policy::Decider, bool waits, const std::string& only_terminal) override {
    if (waits) waiting = prompt.local_id;
    if (!only_terminal.empty()) terminal.push_back(only_terminal);
  }
  void ended(const policy::PromptId&, policy::Outcome, const std::string&) override { waiting.clear(); }
  void stopped(const std::string& reason) override { terminal.push_back(reason); }

  std::vector<std::string> ends;
  std::vector<std::string> terminal;
  std::string waiting;
};

struct Case {
  const char* name;
  bool v3;
  int columns;
  policy::Effect effect;
};

class StandIn : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!find_tmux()) GTEST_SKIP() << "no tmux on this machine";
    char name[] = "/tmp/oncelatch-standin-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    std::ofstream(directory_ + "/scenario.json") << scenario;
    std::ofstream(directory_ + "/record.jsonl");
    std::filesystem::create_directory(directory_ + "/work");
  }
  void TearDown() override {
    mirror_.reset();
    tmux_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  void start(const Case& what) {
    MirrorSetup setup;
    setup.recorder_path = directory_ + "/record.jsonl";
    setup.recorder_file = Fd(::open(setup.recorder_path.c_str(), O_RDONLY | O_CLOEXEC));
    TmuxSetup terminal;
    terminal.directory = directory_;
    terminal.columns = what.columns;
    terminal.rows = 40;
    terminal.pane_argv = {"/usr/bin/env",
                          "-C",
                          directory_ + "/work",
                          "HOME=" + directory_ + "/work",
                          "KIRO_STANDIN_SCENARIO=" + directory_ + "/scenario.json",
                          "KIRO_ACP_RECORD_PATH=" + setup.recorder_path,
                          ONCELATCH_STANDIN,
                          "chat",
                          "--tui"};
    if (what.v3) terminal.pane_argv.emplace_back("--v3");
    terminal.pane_argv.emplace_back("go");
    setup.gate = &gate_;
    setup.decisions = &reports_;
    setup.listener = &reports_;
    setup.clock = &clock_;
    setup.decide = [effect = what.effect](const policy::PermissionRequest&) {
      policy::Decision decision;
      decision.effect = effect;
      return decision;
    };
    Result<TmuxServer> server = TmuxServer::start(terminal);
    ASSERT_TRUE(server) << server.error().message();
    tmux_ = std::make_unique<TmuxServer>(std::move(*server));
    setup.pane = &tmux_->pane();
    mirror_ = std::make_unique<Mirror>(Mirror::start(std::move(setup)).value());
  }
  // The launcher's loop.
  void run_until(std::size_t ends, milliseconds most) {
    for (const auto limit = steady_clock::now() + most; reports_.ends.size() < ends && steady_clock::now() < limit;) {
      std::vector<pollfd> fds = mirror_->poll_fds();
      const std::vector<pollfd> more = tmux_->poll_fds();
      fds.insert(fds.end(), more.begin(), more.end());
      milliseconds wait{50};
      if (const auto due = mirror_->next_deadline()) {
        wait =
            std::clamp(std::chrono::ceil<milliseconds>(*due - clock_.monotonic()), milliseconds(0), milliseconds(50));
      }
      ::poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
      if (tmux_->handle_ready()) mirror_->screen_changed();
      mirror_->handle_ready();
      if (!reports_.waiting.empty())
        (void)mirror_->answer(std::exchange(reports_.waiting, ""), policy::Verdict::accept, policy::Decider::person,
                              "d");
    }
  }

  std::string directory_;
  SystemClock clock_;
  FreeGate gate_;
  Reports reports_;
  std::unique_ptr<TmuxServer> tmux_;
  std::unique_ptr<Mirror> mirror_;
};

TEST_P(StandIn, EveryPromptIsConfirmed) {
  start(GetParam());
  run_until(4, std::chrono::seconds(60));
  const bool v3 = GetParam().v3;
  const bool denied = GetParam().effect == policy::Effect::deny;
  const std::string option =
      denied ? (v3 ? "confirmed reject" : "confirmed reject_once") : (v3 ? "confirmed accept" : "confirmed allow_once");
  EXPECT_THAT(reports_.ends, ::testing::ElementsAre(option, option, option, option));
  EXPECT_TRUE(reports_.terminal.empty());
  EXPECT_EQ(std::filesystem::exists(directory_ + "/work/greeting.txt"), !denied);
}

INSTANTIATE_TEST_SUITE_P(Kiro, StandIn,
                         ::testing::Values(Case{"v2_allow", false, 100, policy::Effect::allow},
                                           Case{"v2_deny", false, 80, policy::Effect::deny},
                                           Case{"v2_person", false, 60, policy::Effect::ask},
                                           Case{"v2_narrow", false, 44, policy::Effect::deny},
                                           Case{"v3_allow", true, 100, policy::Effect::allow},
                                           Case{"v3_deny", true, 60, policy::Effect::deny}),
                         [](const auto& what) { return what.param.name; });

}  // namespace
}  // namespace oncelatch::elicitation
