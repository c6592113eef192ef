// The supervisor's view of its front ends: the one that started it (its life is the session's, until it detaches) and
// those that attached later.
//
//   FrontEnds fronts(std::move(first), std::move(listener));
//   FrontEnds::Wish wish = fronts.handle_ready(session_running);
//
// Ownership: owns the channels and the listening socket. Threads: one. Failure: a front end that went away is dropped.
// After fork: no.
#pragma once

#include <poll.h>

#include <vector>

#include "launcher/channel.h"

namespace oncelatch::launcher {

class FrontEnds {
 public:
  // What the front ends want of the session.
  struct Wish {
    bool end = false;
    int signal = 0;  // with end: the signal that the front end got, or SIGHUP when it vanished
  };

  FrontEnds(Channel first, Fd listener) : first_(std::move(first)), listener_(std::move(listener)) {}
  [[nodiscard]] std::vector<pollfd> poll_fds() const;
  Wish handle_ready();
  void tell_all(const Json& message);

 private:
  void accept_new();
  Wish handle_first();

  Channel first_;
  Fd listener_;
  std::vector<Channel> others_;
  bool detached_ = false;
};

}  // namespace oncelatch::launcher
