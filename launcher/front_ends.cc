#include "launcher/front_ends.h"

#include <sys/socket.h>

#include <algorithm>
#include <csignal>

#include "launcher/relay_link.h"

namespace oncelatch::launcher {
namespace {
constexpr std::size_t kMostAttached = 16;
}

std::vector<pollfd> FrontEnds::poll_fds() const {
  std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}};
  if (first_) fds.push_back({first_.fd(), POLLIN, 0});
  for (const Channel& other : others_) fds.push_back({other.fd(), POLLIN, 0});
  return fds;
}

void FrontEnds::accept_new() {
  Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection || !is_own_peer(connection.get()) || others_.size() >= kMostAttached) return;
  others_.emplace_back(std::move(connection));
}

FrontEnds::Wish FrontEnds::handle_first() {
  while (first_) {
    Channel::Message message = first_.receive();
    if (message.closed) {
      first_.close();
      return detached_ ? Wish{} : Wish{true, SIGHUP};
    }
    if (!message.body) break;
    const std::string* kind = json_string(*message.body, "kind");
    if (kind == nullptr) continue;
    if (*kind == "client_gone") first_.send({{"kind", "running"}});
    if (*kind == "detach") detached_ = true;
    if (*kind == "end") return {true, static_cast<int>(json_integer(*message.body, "signal").value_or(SIGTERM))};
  }
  return {};
}

FrontEnds::Wish FrontEnds::handle_ready() {
  accept_new();
  for (Channel& other : others_) {
    Channel::Message message = other.receive();
    if (message.closed) other.close();
    if (message.body) other.send({{"kind", "running"}});
  }
  others_.erase(std::remove_if(others_.begin(), others_.end(), [](const Channel& c) { return !c; }), others_.end());
  return handle_first();
}

void FrontEnds::tell_all(const Json& message) {
  if (first_) first_.send(message);
  for (const Channel& other : others_) other.send(message);
}

}  // namespace oncelatch::launcher
