// What waits for a person, and who may answer it: a broker on a Unix socket in the session's 0700 directory.
//
//   Broker broker = TRY(Broker::listen(session_dir_fd, "approvals.sock", session_id, clock));
//   broker.offer(card);                         // shown to clients
//   for (auto& answer : broker.handle_ready())  // after poll() said readable on broker.poll_fds()
//     mirror.answered(answer.local_id, answer.verdict, answer.shown_sha256);
//   broker.withdraw("p3", "answered in the terminal");
//
// Ownership: owns its descriptors. Threads: one (the supervisor's loop); never blocks: reads and writes are bounded and
// non-blocking, at most 16 clients, 64 KiB a request line, idle clients are dropped after 10 s. Failure: a bad client
// is dropped with an error line, the broker goes on. Peers of another uid are refused (SO_PEERCRED). Units: bytes.
// After fork: not for the child.
//
// Protocol, one JSON object a line each way:
//   {"op":"list"}
//     -> {"ok":true,"session":S,"waiting":[card…]}, at most 4 MiB
//        (a card beyond 1 MiB, or one that doesn't fit, is a notice that can't be answered)
//   {"op":"answer","id":"p3","verdict":"accept|decline","shown_sha256":HEX}
//     -> {"ok":true,"state":"queued"} or {"ok":false,"error":TEXT,"try":TEXT}
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "policy/decision.h"
#include "policy/recorder.h"
#include "policy/request.h"
#include "redact/redactor.h"

namespace oncelatch::approvals {

// One waiting prompt as a person sees it. Text fields are redacted and escaped; the digest covers all of them.
struct Card {
  std::string local_id;  // "p3"; shown together with the session's short id
  std::string agent;     // "kiro"
  std::string capability;
  std::string title;                 // whole, escaped
  std::string subject;               // whole, escaped
  std::vector<std::string> members;  // one argv a line
  std::vector<std::string> reasons;  // why policy left it open
  std::string working_directory;
  std::string since;                         // RFC 3339
  [[nodiscard]] Json json() const;           // with "digest"
  [[nodiscard]] std::string digest() const;  // SHA-256 hex of the canonical JSON without "digest"
};
// `agent` and `working_directory` are the caller's to set (escaped) before offer().
[[nodiscard]] Card make_card(const policy::PromptId& prompt, const policy::PermissionRequest& request,
                             const policy::Decision& decision, const redact::Redactor& redactor, const Clock& clock);

struct Answer {
  std::string local_id;
  policy::Verdict verdict = policy::Verdict::decline;
  std::string shown_sha256;
};

class Broker {
 public:
  [[nodiscard]] static Result<Broker> listen(int session_dir, const std::string& name, std::string session_id,
                                             const Clock& clock);
  Broker(Broker&&) noexcept;
  Broker& operator=(Broker&&) noexcept;
  ~Broker();

  void offer(const Card& card);
  void withdraw(const std::string& local_id, const std::string& why);
  [[nodiscard]] std::vector<pollfd> poll_fds() const;
  // Handles everything that is ready; each answer returned was for a waiting card with the digest that was shown, and
  // the card is withdrawn from the list ("queued") so that it can be answered once only. An id that was answered or
  // withdrawn is never offered again.
  std::vector<Answer> handle_ready();

 private:
  struct State;
  explicit Broker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace oncelatch::approvals
