// Questions of the workspace guard about held names (sandbox/held_wire.h), put through the policy, the record and,
// where that leaves them open, a person; like prompts of the agent, but answered to the broker inside.
//
//   HeldPrompts held(setup, std::move(confined.held));
//   poll(held.poll_fds() + …, held.next_deadline());
//   held.handle_ready();
//   if (held.knows(answer.local_id)) Status taken = held.answer(answer);
//   held.finish("the agent ended");
//
// An answer is durable in the record before the broker gets it. Ownership: owns the channel; the rest of the setup is
// the supervisor's and outlives it. Threads: one; never blocks. Failure: what can't be recorded is refused. What comes
// from inside is bounded: a few questions a round, so that a flood waits inside, and is refused there. Units: kPatience
// for an answer, then it is refused. After fork: no.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "approvals/broker.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "launcher/prompts.h"
#include "policy/recorder.h"
#include "sandbox/held_channel.h"

namespace oncelatch::launcher {

struct HeldPromptsSetup {
  std::string workspace;
  bool unattended = false;
  policy::DecisionRecorder* decisions = nullptr;
  Prompts* prompts = nullptr;
  const Clock* clock = nullptr;
  std::function<policy::Decision(const policy::PermissionRequest&)> decide;
};

class HeldPrompts {
 public:
  static constexpr std::chrono::minutes kPatience{10};

  HeldPrompts(HeldPromptsSetup setup, Fd channel) : setup_(std::move(setup)), channel_(std::move(channel)) {}

  [[nodiscard]] std::vector<pollfd> poll_fds() const;
  [[nodiscard]] std::optional<Nanoseconds> next_deadline() const;
  void handle_ready();
  // Of this one's questions: their ids begin with "g".
  [[nodiscard]] static bool knows(const std::string& local_id) { return local_id.rfind('g', 0) == 0; }
  // A person's verdict. Error when it waits no longer.
  Status answer(const approvals::Answer& answer);
  // Questions that a person should answer now.
  [[nodiscard]] std::size_t waiting() const;
  // Whatever is open is superseded.
  void finish(const std::string& why);
  // "asked", "allowed", "refused": how many.
  [[nodiscard]] Json counts() const;

 private:
  struct Open {
    policy::PromptId id;
    bool answered = false;
    bool allowed = false;
    Nanoseconds deadline{0};
  };
  using Place = std::map<std::uint32_t, Open>::iterator;

  void take(const sandbox::HeldMessage& message);
  void ask(const sandbox::HeldMessage& message);
  void done(Place place, int error);
  void expire();
  Status deliver(Place place, policy::Verdict verdict, policy::Decider decider, const std::string& shown_sha256);
  void refuse_unrecorded(Place place, const std::string& detail);
  void end(Place place, policy::Outcome outcome, const std::string& detail);
  [[nodiscard]] policy::PermissionRequest request_for(const sandbox::HeldMessage& message) const;

  HeldPromptsSetup setup_;
  Fd channel_;
  std::map<std::uint32_t, Open> open_;  // by ticket
  std::uint64_t asked_ = 0;
  std::uint64_t allowed_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace oncelatch::launcher
