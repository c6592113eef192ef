// Recorder line to decision: from the write of a request line to the decision, through inotify, parsing and 1,000
// rules, beside a reader that polls every 400 ms. Prints p50 and p99 of each and the ratio.
//   build/release/bench/bench_decision
#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "elicitation/mirror.h"
#include "policy/rules.h"

namespace {

using namespace oncelatch;
using Steady = std::chrono::steady_clock;

constexpr int kRounds = 300;
constexpr int kPolledRounds = 6;
constexpr std::chrono::milliseconds kPollInterval{400};

struct DeadPane final : elicitation::Pane {
  Result<elicitation::ScreenText> capture() override { return elicitation::ScreenText{}; }
  Result<bool> send_key_if(const std::vector<std::string>&, elicitation::Key) override { return false; }
  Status set_person_input(bool) override { return {}; }
};
struct OpenGate final : elicitation::InputGate {
  Nanoseconds last_person_input() const override { return Nanoseconds(0); }
  bool quiet() override { return true; }
  void expect_own_key(elicitation::Key) override {}
  void own_key_not_sent(elicitation::Key) override {}
};
struct NoRecord final : policy::DecisionRecorder {
  Status request_seen(const policy::PromptId&, const policy::PermissionRequest&) override { return {}; }
  Status decided(const policy::PromptId&, const policy::PermissionRequest&, const policy::Decision&,
                 policy::Decider) override {
    ++decisions;
    return {};
  }
  Status delivering(const policy::PromptId&, policy::Verdict, policy::Decider, const std::string&) override {
    return {};
  }
  Status ended(const policy::PromptId&, policy::Outcome, const std::string&, const std::string&) override { return {}; }
  int decisions = 0;
};
struct Listener final : elicitation::MirrorListener {
  void decided(const policy::PromptId&, const policy::PermissionRequest&, const policy::Decision&, policy::Decider,
               bool, const std::string&) override {}
  void ended(const policy::PromptId&, policy::Outcome, const std::string&) override {}
  void stopped(const std::string& reason) override {
    fmt::print(stderr, "mirror stopped: {}\n", reason);
    std::exit(1);
  }
};

std::string request(int id) {
  return fmt::format(
      R"({{"ts":1,"dir":"in","msg":{{"jsonrpc":"2.0","method":"session/request_permission","params":{{"sessionId":"s","toolCall":{{"toolCallId":"t{0}","title":"Running: git status -{0}"}},"options":[{{"optionId":"allow_once","name":"Yes","kind":"allow_once"}},{{"optionId":"reject_once","name":"No","kind":"reject_once"}}]}},"id":"r{0}"}}}})"
      "\n",
      id);
}
std::string answer(int id) {
  return fmt::format(
      R"({{"ts":1,"dir":"out","msg":{{"jsonrpc":"2.0","id":"r{}","result":{{"outcome":{{"outcome":"selected","optionId":"reject_once"}}}}}}}})"
      "\n",
      id);
}

policy::Rules thousand_rules() {
  std::string text = "rules:\n";
  for (int i = 0; i < 1000; ++i)
    text += fmt::format("  - {{id: r{}, capability: shell, match: [\"program{} *\"], effect: allow}}\n", i, i);
  Result<policy::Rules> rules = policy::Rules::parse(text, "bench.yaml");
  if (!rules) {
    fmt::print(stderr, "{}\n", rules.error().message());
    std::exit(1);
  }
  return *rules;
}

double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main() {
  char path[] = "/tmp/oncelatch-bench-XXXXXX";
  oncelatch::Fd writer(::mkstemp(path));
  oncelatch::SystemClock clock;
  policy::Rules rules = thousand_rules();
  DeadPane pane;
  OpenGate gate;
  NoRecord record;
  Listener listener;
  elicitation::MirrorSetup setup;
  setup.recorder_file = Fd(::open(path, O_RDONLY | O_CLOEXEC));
  setup.recorder_path = path;
  setup.pane = &pane;
  setup.gate = &gate;
  setup.decisions = &record;
  setup.listener = &listener;
  setup.clock = &clock;
  setup.decide = [&rules](const policy::PermissionRequest& r) { return policy::decide(rules, r, {"/w", "/w"}); };
  Result<elicitation::Mirror> mirror = elicitation::Mirror::start(std::move(setup));
  if (!mirror) {
    fmt::print(stderr, "{}\n", mirror.error().message());
    return 1;
  }

  auto write_line = [&writer](const std::string& line) { return ::write(writer.get(), line.data(), line.size()) > 0; };
  auto pump = [&mirror](int timeout) {
    std::vector<pollfd> fds = mirror->poll_fds();
    ::poll(fds.data(), fds.size(), timeout);
    mirror->handle_ready();
  };
  std::vector<double> ours;
  for (int i = 0; i < kRounds; ++i) {
    int before = record.decisions;
    Steady::time_point start = Steady::now();
    write_line(request(i));
    while (record.decisions == before) pump(1000);
    ours.push_back(std::chrono::duration<double, std::micro>(Steady::now() - start).count());
    for (Steady::time_point settle = Steady::now() + std::chrono::milliseconds(30); Steady::now() < settle;) pump(5);
    write_line(answer(i));
    for (Steady::time_point settle = Steady::now() + std::chrono::milliseconds(5); Steady::now() < settle;) pump(2);
  }
  std::vector<double> polled;
  for (int i = 0; i < kPolledRounds; ++i) {
    off_t size = ::lseek(writer.get(), 0, SEEK_END);
    Steady::time_point tick = Steady::now();
    timespec phase{0, 60'000'000L * i};
    ::nanosleep(&phase, nullptr);
    Steady::time_point start = Steady::now();
    write_line(request(kRounds + i));
    while (::lseek(writer.get(), 0, SEEK_END) == size || Steady::now() - tick < kPollInterval) {
      timespec rest{0, 1'000'000};
      ::nanosleep(&rest, nullptr);
    }
    polled.push_back(std::chrono::duration<double, std::micro>(Steady::now() - start).count());
  }
  ::unlink(path);
  fmt::print("recorder line to decision, 1,000 rules: p50 {:.0f} us, p99 {:.0f} us ({} rounds)\n",
             percentile(ours, 0.5), percentile(ours, 0.99), kRounds);
  fmt::print("a reader that polls every 400 ms:       p50 {:.0f} us\n", percentile(polled, 0.5));
  fmt::print("ratio of the medians: {:.5f}\n", percentile(ours, 0.5) / percentile(polled, 0.5));
  return 0;
}
