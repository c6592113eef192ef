#include "launcher/relay_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace oncelatch::launcher {
namespace {

Status wait_readable(int fd, std::chrono::milliseconds limit, const char* object) {
  pollfd one{fd, POLLIN, 0};
  int ready = ::poll(&one, 1, static_cast<int>(limit.count()));
  if (ready > 0) return {};
  return fail("terminal", object, "the pane's relay did not come",
              "check that tmux can start programs; run oncelatch doctor");
}

Result<Fd> receive_descriptor(int connection) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1)
    return fail_errno("terminal", "relay", errno, {}, "recvmsg");
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return fail("terminal", "relay", "sent no terminal");
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Fd(fd);
}

}  // namespace

Result<Fd> listen_in(int session, const std::string& name, int type) {
  Fd listener(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return fail_errno("session directory", name, errno, {}, "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = fmt::format("/proc/self/fd/{}/{}", session, name);
  if (path.size() >= sizeof address.sun_path) return fail("session directory", name, "socket name too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ::fchmod(listener.get(), 0600);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), 8) != 0) {
    return fail_errno("session directory", name, errno, {}, "bind");
  }
  return listener;
}

bool is_own_peer(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

Result<RelayLink> RelayLink::listen(int session, const std::string& session_path) {
  RelayLink link;
  link.path_ = session_path + "/relay.sock";
  link.listener_ = TRY(listen_in(session, "relay.sock", SOCK_STREAM));
  return link;
}

Result<Fd> RelayLink::accept_terminal(std::chrono::milliseconds limit) {
  TRY(wait_readable(listener_.get(), limit, "relay.sock"));
  connection_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection_ || !is_own_peer(connection_.get())) return fail("terminal", "relay", "refused a foreign process");
  TRY(wait_readable(connection_.get(), limit, "relay"));
  Fd terminal = TRY(receive_descriptor(connection_.get()));
  listener_.reset();  // one relay, once
  return terminal;
}

bool RelayLink::handle_ready() {
  char buffer[64];
  bool changed = false;
  for (;;) {
    ssize_t count = ::recv(connection_.get(), buffer, sizeof buffer, 0);
    if (count > 0) {
      changed = true;
      continue;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) closed_ = true;
    return changed;
  }
}

}  // namespace oncelatch::launcher
