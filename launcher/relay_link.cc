#include "launcher/relay_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/beneath.h"

namespace oncelatch::launcher {
namespace {

Status wait_readable(int fd, std::chrono::milliseconds limit, const char* object) {
  pollfd one{fd, POLLIN, 0};
  int ready = ::poll(&one, 1, static_cast<int>(limit.count()));
  if (ready > 0) return {};
  return fail("terminal", object, "the pane's relay did not come",
              "check that tmux can start programs; run oncelatch doctor");
}

// "/dev/pts/5\n": what the relay wrote, whole by PIPE_BUF.
Result<std::string> read_name(int fifo) {
  char buffer[64];
  const ssize_t got = ::read(fifo, buffer, sizeof buffer);
  const std::string_view text(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
  constexpr std::string_view kPlace = "/dev/pts/";
  const std::size_t end = text.find('\n');
  const bool named = text.substr(0, kPlace.size()) == kPlace && end != text.npos && end > kPlace.size() &&
                     text.substr(0, end).find_first_not_of("0123456789", kPlace.size()) == text.npos;
  if (!named) return fail("terminal", "relay", "named no terminal");
  return std::string(text.substr(0, end));
}

Result<Fd> open_terminal(const std::string& name) {
  Fd terminal(::open(name.c_str(), O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  if (!terminal) return fail_errno("terminal", name, errno, {}, "open");
  struct stat info {};
  const bool own = ::fstat(terminal.get(), &info) == 0 && S_ISCHR(info.st_mode) && info.st_uid == ::geteuid();
  if (!own) return fail("terminal", name, "is no terminal of this user");
  return terminal;
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

Result<RelayLink> RelayLink::listen(int directory, const std::string& directory_path) {
  RelayLink link;
  link.path_ = directory_path + "/relay.fifo";
  if (::mkfifoat(directory, "relay.fifo", 0600) != 0) return fail_errno("terminal", link.path_, errno, {}, "mkfifo");
  link.fifo_ = TRY(open_beneath(directory, "relay.fifo", O_RDONLY | O_NONBLOCK));
  return link;
}

Result<Fd> RelayLink::accept_terminal(std::chrono::milliseconds limit) {
  TRY(wait_readable(fifo_.get(), limit, "relay.fifo"));
  return open_terminal(TRY(read_name(fifo_.get())));
}

bool RelayLink::handle_ready() {
  char buffer[64];
  bool changed = false;
  for (;;) {
    ssize_t count = ::read(fifo_.get(), buffer, sizeof buffer);
    if (count > 0) {
      changed = true;
      continue;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) closed_ = true;
    return changed;
  }
}

}  // namespace oncelatch::launcher
