#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tests/probes/probe.h"

namespace oncelatch::probe {

namespace {

int connect_unix(const std::string& name, std::size_t skip) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + skip, name.c_str(), name.size());
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  int error = error_of(::connect(fd, reinterpret_cast<sockaddr*>(&address), size));
  ::close(fd);
  return error;
}
int connect_path(const std::string& path) {
  return connect_unix(path, 0);
}
int connect_abstract(const std::string& name) {
  return connect_unix(name, 1);
}

// The path (or unix:path=) that a variable names.
int connect_variable(const std::string& name) {
  const char* value = ::getenv(name.c_str());
  if (value == nullptr) return ENOENT;
  std::string path = value;
  std::size_t slash = path.find('/');
  if (slash == std::string::npos || path.size() - slash > 100) return EINVAL;
  return connect_path(path.substr(slash));
}

// FAMILY[:TYPE[:PROTOCOL]]
int open_socket(const std::string& text) {
  int words[3] = {0, SOCK_DGRAM, 0};
  const char* here = text.c_str();
  for (int& word : words) {
    char* end = nullptr;
    word = static_cast<int>(std::strtol(here, &end, 0));
    if (*end != ':') break;
    here = end + 1;
  }
  int fd = ::socket(words[0], words[1], words[2]);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

sockaddr_in loopback(const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(static_cast<std::uint16_t>(std::atoi(port.c_str())));
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  return address;
}
int connect_tcp(const std::string& port) {
  sockaddr_in address = loopback(port);
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int error = error_of(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address));
  ::close(fd);
  return error;
}
int send_fast_open(const std::string& port) {
  sockaddr_in address = loopback(port);
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int error = error_of(::sendto(fd, "x", 1, MSG_FASTOPEN, reinterpret_cast<sockaddr*>(&address), sizeof address));
  ::close(fd);
  return error;
}
int bind_tcp(const std::string& port) {
  sockaddr_in address = loopback(port);
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int error = error_of(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address));
  ::close(fd);
  return error;
}
// Without a port of its own: the kernel gives it one.
int listen_without_port(const std::string& family) {
  int fd = ::socket(std::atoi(family.c_str()), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int error = error_of(::listen(fd, 1));
  ::close(fd);
  return error;
}
// PATH:TYPE, with a socket of a pair.
int connect_of_pair(const std::string& text) {
  std::size_t colon = text.rfind(':');
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  text.copy(address.sun_path, colon);
  int ends[2];
  if (::socketpair(AF_UNIX, std::atoi(text.c_str() + colon + 1) | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  int error = error_of(::connect(ends[0], reinterpret_cast<sockaddr*>(&address), sizeof address));
  for (int end : ends) ::close(end);
  return error;
}
// To an address outside: no route in an empty network namespace.
int send_udp(const std::string& text) {
  sockaddr_in address = loopback("53");
  ::inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int error = error_of(::sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&address), sizeof address));
  ::close(fd);
  return error;
}

}  // namespace

const Named kSocketAttempts[] = {
    {"unix", connect_path},
    {"unix-of-env", connect_variable},
    {"abstract", connect_abstract},
    {"socket", open_socket},
    {"fast-open", send_fast_open},
    {"tcp", connect_tcp},
    {"listen-tcp", bind_tcp},
    {"listen-free", listen_without_port},
    {"pair", connect_of_pair},
    {"udp", send_udp},
    {nullptr, nullptr},
};

}  // namespace oncelatch::probe
