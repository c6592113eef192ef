// The mirror of one agent session: recorder line -> request -> decision (recorded) -> guarded keys -> matching recorder
// answer.
//
//   Mirror mirror(setup);                       // starts at the recorder's current end
//   poll(mirror.poll_fds() + ..., mirror.next_deadline());
//   mirror.handle_ready();                      // reads what came, drives the one delivery that may be under way
//   mirror.answer("p3", policy::Verdict::accept, policy::Decider::person, digest);
//   mirror.finish("the agent ended");           // every open prompt gets an outcome
//
// Ownership: everything in MirrorSetup is the launcher's and outlives the mirror. Threads: one. Never blocks longer
// than one tmux round trip (bounded by 1 s). Failure: a failed check never sends a key; a fault of the recorder file
// (shrunk, replaced, hard-linked, foreign) stops the mirroring with a report and leaves the session and its terminal
// alone. After fork: not for the child. Source: contracts/kiro-tui.md 2-5; DESIGN section 8.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "elicitation/pane.h"
#include "policy/decision.h"
#include "policy/recorder.h"
#include "policy/request.h"

namespace oncelatch::elicitation {

// What the mirror tells the launcher, for cards, events and the report. Called from handle_ready(), answer() and
// finish().
class MirrorListener {
 public:
  virtual ~MirrorListener() = default;
  // A decision was made and recorded. With `waiting`, the prompt waits for a person (card); `only_terminal` says why no
  // key can ever be sent for it (no safe option, slot taken, a question…), empty otherwise.
  virtual void decided(const policy::PromptId& prompt, const policy::PermissionRequest& request,
                       const policy::Decision& decision, policy::Decider decider, bool waiting,
                       const std::string& only_terminal) = 0;
  virtual void ended(const policy::PromptId& prompt, policy::Outcome outcome, const std::string& detail) = 0;
  // Mirroring stopped for good; the session goes on in the terminal. `reason` is display-safe.
  virtual void stopped(const std::string& reason) = 0;
};

struct MirrorSetup {
  Fd recorder_file;           // the pre-created recorder, opened O_RDONLY; identity is checked against recorder_path
  std::string recorder_path;  // host path, for inotify and the identity check
  Pane* pane = nullptr;
  InputGate* gate = nullptr;
  policy::DecisionRecorder* decisions = nullptr;
  MirrorListener* listener = nullptr;
  const Clock* clock = nullptr;
  std::function<policy::Decision(const policy::PermissionRequest&)> decide;
  bool unattended = false;  // ask becomes a delivered decline
};

class Mirror {
 public:
  [[nodiscard]] static Result<Mirror> start(MirrorSetup setup);
  Mirror(Mirror&&) noexcept;
  Mirror& operator=(Mirror&&) noexcept;
  ~Mirror();

  [[nodiscard]] std::vector<pollfd> poll_fds() const;
  // Monotonic time at which handle_ready() must run even if nothing is readable; nullopt: never.
  [[nodiscard]] std::optional<Nanoseconds> next_deadline() const;
  void handle_ready();
  // The pane's content may have changed (the launcher forwarded output): cheaper than waiting for the next tick.
  void screen_changed();
  // A person's verdict on a waiting prompt. Error when it no longer waits (then nothing was or will be typed).
  Status answer(const std::string& local_id, policy::Verdict verdict, policy::Decider decider,
                const std::string& shown_sha256);
  // Session end: open prompts are recorded as superseded.
  void finish(const std::string& why);
  // Recorder lines that were too long to read (over 1 MiB).
  [[nodiscard]] std::uint64_t skipped_lines() const;

 private:
  struct State;
  explicit Mirror(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace oncelatch::elicitation
