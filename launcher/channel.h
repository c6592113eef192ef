// Messages between a front end and the supervisor: one bounded JSON object a packet (SOCK_SEQPACKET).
//
//   auto [front, back] = TRY(Channel::pair());
//   front.send({{"kind", "end"}, {"signal", 15}});
//   for (;;) { Channel::Message got = back.receive(); ... }
//
// Kinds to the supervisor: end {signal}, client_gone {}, detach {}. To the front end: ready {session}, failed {message,
// exit}, event {…}, running {}, ended {exit, reason, told [line]}. Ownership: owns its descriptor. Threads: one an end.
// Never blocks. Failure: a full or closed peer loses the message (send returns false); receive tells closed apart from
// nothing. After fork: close the end you don't use.
#pragma once

#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"

namespace oncelatch::launcher {

class Channel {
 public:
  struct Message {
    bool closed = false;
    std::optional<Json> body;  // empty and not closed: nothing there now
  };

  Channel() = default;
  explicit Channel(Fd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] static Result<std::pair<Channel, Channel>> pair();

  [[nodiscard]] int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  bool send(const Json& message) const;
  [[nodiscard]] Message receive() const;
  void close() { fd_.reset(); }

 private:
  Fd fd_;
};

}  // namespace oncelatch::launcher
