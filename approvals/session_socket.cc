#include "approvals/session_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace oncelatch::approvals {
namespace {

constexpr int queue_length = 16;

Status check_and_listen(const Fd& socket, int directory, const std::string& name) {
  struct stat info {};
  // A umask may have taken the owner's bits, too.
  if (::fchmodat(directory, name.c_str(), 0600, 0) != 0 ||
      ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno("approvals", name, errno, {}, "stat");
  if (!S_ISSOCK(info.st_mode) || (info.st_mode & 07777) != 0600 || info.st_uid != ::geteuid())
    return fail("approvals", name, "isn't a private socket of this user");
  if (::listen(socket.get(), queue_length) != 0) return fail_errno("approvals", name, errno, {}, "listen");
  return {};
}

}  // namespace

Result<Fd> bind_session_socket(int directory, const std::string& name) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
    return fail("approvals", "socket", "isn't the name of a file");
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("approvals", name, errno, {}, "socket");
  // The mode of the file that bind(2) makes comes from the socket.
  if (::fchmod(socket.get(), 0600) != 0) return fail_errno("approvals", name, errno, {}, "fchmod");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", directory, name);
  if (path.size() >= sizeof(address.sun_path)) return fail("approvals", name, "the socket's name is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail_errno("approvals", name, errno, "start a new session; a session directory has one broker", "bind");
  Status status = check_and_listen(socket, directory, name);
  if (!status) {
    ::unlinkat(directory, name.c_str(), 0);
    return Failure(status.error());
  }
  return socket;
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace oncelatch::approvals
