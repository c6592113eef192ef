// The supervisor's end of the pane relay: waits for oncelatch-relay, opens the terminal it names, then hears of size
// changes. A FIFO, no socket: the server that starts the relay may connect to nothing.
//
//   RelayLink link = TRY(RelayLink::listen(tmux_directory_fd, tmux_directory));
//   ... tmux starts the relay ...
//   Fd tty = TRY(link.accept_terminal(std::chrono::seconds(5)));
//
// Ownership: owns its descriptor. Threads: one. Failure: no relay within the limit, a name that is none of a
// pseudo-terminal of this user: Error. After fork: no. Source: fifo(7).
#pragma once

#include <chrono>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::launcher {

class RelayLink {
 public:
  [[nodiscard]] static Result<RelayLink> listen(int directory, const std::string& directory_path);
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Result<Fd> accept_terminal(std::chrono::milliseconds limit);
  [[nodiscard]] int fd() const { return fifo_.get(); }
  // Reads what the relay said; true when the size changed.
  bool handle_ready();
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  std::string path_;
  Fd fifo_;
  bool closed_ = false;
};

// A listening Unix socket `name` in the session directory, mode 0600.
[[nodiscard]] Result<Fd> listen_in(int session, const std::string& name, int type);
// True when the peer runs as the caller's user.
[[nodiscard]] bool is_own_peer(int connection);

}  // namespace oncelatch::launcher
