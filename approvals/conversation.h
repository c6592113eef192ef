// One connection to a session's broker, with a limit of 5 s for all of it.
//
//   std::optional<Conversation> conversation = TRY(Conversation::open(root_fd, "20261130-153000-k3f9"));
//   std::string reply = TRY(conversation->exchange(list_line()));
//
// Ownership: owns its socket. Threads: one. Failure: nullopt where no session listens (no socket, or a stale one);
// Error for a foreign peer, the time limit and a reply beyond 4 MiB. Units: bytes. After fork: allocates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "approvals/message.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::approvals {

class Conversation {
 public:
  [[nodiscard]] static Result<std::optional<Conversation>> open(int root, const std::string& session);
  // Sends one line, returns the reply's.
  [[nodiscard]] Result<std::string> exchange(const std::string& line);

 private:
  Conversation(std::string session, Nanoseconds deadline) : session_(std::move(session)), deadline_(deadline) {}
  // True: a broker of this user took the connection; false: nobody listens.
  Result<bool> connect(int directory);
  Status wait_for(short events) const;
  [[nodiscard]] Failure timed_out() const;

  std::string session_;
  Fd socket_;
  Nanoseconds deadline_;
  LineReader lines_{longest_reply};
};

// Names in the sessions directory that can be session ids, sorted; at most 4,096 entries are looked at.
[[nodiscard]] Result<std::vector<std::string>> session_names(int root);

}  // namespace oncelatch::approvals
