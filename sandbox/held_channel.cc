#include "sandbox/held_channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace oncelatch::sandbox {

namespace {

constexpr int kMostDropped = 16;  // malformed ones at once

}  // namespace

bool receive_held(Fd& channel, HeldMessage& message) {
  std::array<char, kMostHeldBytes + 1> bytes;
  for (int i = 0; channel && i < kMostDropped; ++i) {
    const ssize_t got = ::recv(channel.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0 && read_held_message(bytes.data(), static_cast<std::size_t>(got), message)) return true;
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got == 0 || errno != EAGAIN) channel.reset();
    return false;
  }
  return false;
}

bool answer_held(const Fd& channel, std::uint32_t ticket, HeldVerdict verdict) {
  const HeldAnswer answer{.magic = kHeldMagic, .ticket = ticket, .verdict = verdict};
  return channel && ::send(channel.get(), &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof answer;
}

}  // namespace oncelatch::sandbox
