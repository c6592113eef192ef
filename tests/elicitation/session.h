// A mirror on a virtual Kiro with a record file of its own, and everything the mirror reports.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "elicitation/mirror.h"
#include "tests/elicitation/virtual_kiro.h"

namespace oncelatch::elicitation::testing {

using policy::Decider;
using policy::Decision;
using policy::Effect;
using policy::Outcome;
using policy::PermissionRequest;
using policy::PromptId;
using policy::Verdict;
using std::chrono::milliseconds;

class Session final : public policy::DecisionRecorder, public MirrorListener {
 public:
  explicit Session(std::size_t columns = 80, std::size_t lines = 30) {
    char name[] = "/tmp/oncelatch-session-XXXXXX";
    directory = ::mkdtemp(name);
    path = directory + "/record.jsonl";
    Fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    clock.advance(std::chrono::seconds(100));
    kiro = std::make_unique<VirtualKiro>(&clock, path, columns, lines);
  }
  ~Session() override {
    mirror.reset();
    ::unlink(path.c_str());
    ::rmdir(directory.c_str());
  }
  void start() {
    MirrorSetup setup;
    setup.recorder_file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    setup.recorder_path = path;
    setup.pane = kiro.get();
    setup.gate = kiro.get();
    setup.decisions = this;
    setup.listener = this;
    setup.clock = &clock;
    setup.unattended = unattended;
    setup.decide = [this](const PermissionRequest&) {
      Decision decision;
      decision.effect = effect;
      return decision;
    };
    mirror = std::make_unique<Mirror>(Mirror::start(std::move(setup)).value());
  }
  // One round of the launcher's loop.
  void round() {
    kiro->run();
    mirror->handle_ready();
  }
  // To the next thing that happens, at most `most` ahead.
  void step(Nanoseconds most = milliseconds(50)) {
    Nanoseconds until = clock.monotonic() + most;
    if (const auto due = mirror->next_deadline()) until = std::min(until, *due);
    if (const auto due = kiro->next_event()) until = std::min(until, *due);
    clock.advance(std::max(until - clock.monotonic(), Nanoseconds(std::chrono::microseconds(100))));
    round();
  }
  void run_for(Nanoseconds time) {
    for (const Nanoseconds end = clock.monotonic() + time; clock.monotonic() < end;) step();
  }
  [[nodiscard]] const std::string* end_of(const std::string& id) const {
    for (const auto& entry : ends) {
      if (entry.first == "\"" + id + "\"") return &entry.second;
    }
    return nullptr;
  }
  bool run_until_end(const std::string& id, Nanoseconds most = std::chrono::seconds(90)) {
    for (const Nanoseconds end = clock.monotonic() + most; end_of(id) == nullptr && clock.monotonic() < end;) step();
    return end_of(id) != nullptr;
  }

  Status request_seen(const PromptId& prompt, const PermissionRequest&) override {
    log.push_back("seen " + prompt.local_id);
    return audit_fails == "seen" ? Status(fail("audit", "test", "full")) : Status();
  }
  Status decided(const PromptId& prompt, const PermissionRequest&, const Decision&, Decider decider) override {
    log.push_back("decided " + prompt.local_id + " " + std::string(policy::decider_name(decider)));
    return audit_fails == "decided" ? Status(fail("audit", "test", "full")) : Status();
  }
  Status delivering(const PromptId& prompt, Verdict verdict, Decider decider, const std::string& sha256) override {
    log.push_back("delivering " + prompt.local_id + " " + std::string(policy::verdict_name(verdict)) + " " +
                  std::string(policy::decider_name(decider)));
    delivering_id = prompt.request_id;
    delivering_verdict = verdict;
    delivering_sha256 = sha256;
    return audit_fails == "delivering" ? Status(fail("audit", "test", "full")) : Status();
  }
  Status ended(const PromptId& prompt, Outcome outcome, const std::string& option, const std::string& detail) override {
    log.push_back("ended " + prompt.local_id + " " + std::string(policy::outcome_name(outcome)));
    option_of_end = option;
    ends.emplace_back(prompt.request_id,
                      std::string(policy::outcome_name(outcome)) + (detail.empty() ? "" : ": " + detail));
    return {};
  }
  void decided(const PromptId& prompt, const PermissionRequest&, const Decision&, Decider, bool waits,
               const std::string& only_terminal) override {
    told.push_back(prompt.local_id + (waits ? " waits" : "") +
                   (only_terminal.empty() ? "" : " terminal: " + only_terminal));
    if (waits) waiting = prompt.local_id;
  }
  void ended(const PromptId& prompt, Outcome outcome, const std::string&) override {
    told.push_back(prompt.local_id + " " + std::string(policy::outcome_name(outcome)));
    if (waiting == prompt.local_id) waiting.clear();
  }
  void stopped(const std::string& reason) override { stop_reason = reason; }

  ManualClock clock;
  std::string directory;
  std::string path;
  std::unique_ptr<VirtualKiro> kiro;
  std::unique_ptr<Mirror> mirror;
  Effect effect = Effect::ask;
  bool unattended = false;
  std::string audit_fails;
  std::vector<std::string> log;
  std::vector<std::string> told;
  std::vector<std::pair<std::string, std::string>> ends;
  std::string waiting;
  std::string delivering_id;
  std::string delivering_sha256;
  std::string option_of_end;
  Verdict delivering_verdict = Verdict::decline;
  std::string stop_reason;
};

}  // namespace oncelatch::elicitation::testing
