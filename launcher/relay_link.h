// The supervisor's end of the pane relay: waits for oncelatch-relay, takes its terminal's descriptor, then hears of
// size changes.
//
//   RelayLink link = TRY(RelayLink::listen(session_fd, session_path));
//   ... tmux starts the relay ...
//   Fd tty = TRY(link.accept_terminal(std::chrono::seconds(5)));
//
// Ownership: owns its sockets. Threads: one. Failure: no relay within the limit, another user's process, a message
// without a descriptor: Error. After fork: no. Source: unix(7), SCM_RIGHTS.
#pragma once

#include <chrono>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::launcher {

class RelayLink {
 public:
  [[nodiscard]] static Result<RelayLink> listen(int session, const std::string& session_path);
  [[nodiscard]] const std::string& socket_path() const { return path_; }
  [[nodiscard]] Result<Fd> accept_terminal(std::chrono::milliseconds limit);
  [[nodiscard]] int fd() const { return connection_.get(); }
  // Reads what the relay said; true when the size changed.
  bool handle_ready();
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  std::string path_;
  Fd listener_;
  Fd connection_;
  bool closed_ = false;
};

// A listening Unix socket `name` in the session directory, mode 0600.
[[nodiscard]] Result<Fd> listen_in(int session, const std::string& name, int type);
// True when the peer runs as the caller's user.
[[nodiscard]] bool is_own_peer(int connection);

}  // namespace oncelatch::launcher
