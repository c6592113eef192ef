#include "launcher/channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <vector>

namespace oncelatch::launcher {
namespace {
constexpr std::size_t kMostPacket = std::size_t{64} << 10;
}

Result<std::pair<Channel, Channel>> Channel::pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return fail_errno("supervisor", "channel", errno, {}, "socketpair");
  }
  return std::make_pair(Channel(Fd(ends[0])), Channel(Fd(ends[1])));
}

bool Channel::send(const Json& message) const {
  std::string text = dump_json(message);
  if (!fd_ || text.size() > kMostPacket) return false;
  return ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

Channel::Message Channel::receive() const {
  std::vector<char> buffer(kMostPacket);
  ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  // A peer that left with our messages unread resets the socket; what it had sent before still lies behind that error.
  if (count < 0 && errno == ECONNRESET) count = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {false, std::nullopt};
  if (count <= 0) return {true, std::nullopt};
  Result<Json> body = parse_json({buffer.data(), static_cast<std::size_t>(count)}, {kMostPacket, 16, 4096}, "message");
  if (!body || !body->is_object()) return {false, std::nullopt};
  return {false, std::move(*body)};
}

}  // namespace oncelatch::launcher
