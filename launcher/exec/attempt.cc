#include "launcher/exec/attempt.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/fd.h"

namespace oncelatch::launcher {

namespace {

constexpr int kPatience = 2000;       // ms for a connection
constexpr unsigned kLongestCall = 2;  // seconds for a system call
constexpr int kCheckOnly = 0x10000;   // AT_EXECVE_CHECK of Linux 6.14
constexpr int kDescription = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

void say(const char* what, int error) {
  std::printf("%s %d\n", what, error);
}

int error_of(long rc) {
  return rc < 0 ? errno : 0;
}

// Of what isn't there, and gone at once.
int create(const std::string& name) {
  Fd file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | kDescription, 0600));
  int error = file ? 0 : errno;
  if (file) ::unlink(name.c_str());
  return error;
}

int create_in(const std::string& directory) {
  return create(directory + "/oncelatch-why-" + std::to_string(::getpid()));
}

int execute(int fd) {
  const char* arguments[] = {"check", nullptr};
  return error_of(::syscall(SYS_execveat, fd, "", arguments, arguments + 1, AT_EMPTY_PATH | kCheckOnly));
}

void try_file(const char* path) {
  Fd read(::open(path, O_RDONLY | kDescription));
  say("readable", read ? 0 : errno);
  Fd write(::open(path, O_WRONLY | kDescription));  // no O_TRUNC: nothing changes
  say("writable", write ? 0 : errno);
  Fd object(::open(path, O_PATH | O_CLOEXEC));
  say("executable", object ? execute(object.get()) : errno);
}

int try_path(const char* path) {
  struct stat found {};
  int error = error_of(::stat(path, &found));
  say("visible", error);
  if (error != 0) {
    say("creatable", create(path));
  } else if (S_ISDIR(found.st_mode)) {
    Fd listed(::open(path, O_RDONLY | O_DIRECTORY | kDescription));
    say("readable", listed ? 0 : errno);
    say("creatable", create_in(std::strcmp(path, "/") == 0 ? "" : path));
  } else if (S_ISREG(found.st_mode) || S_ISCHR(found.st_mode)) {
    try_file(path);
  }
  return 0;
}

int connect_to(const sockaddr* address, socklen_t size, int type = SOCK_STREAM) {
  Fd socket(::socket(address->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno;
  if (::connect(socket.get(), address, size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd entry{socket.get(), POLLOUT, 0};
  if (::poll(&entry, 1, kPatience) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

int try_unix(const char* name, bool abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::size_t start = abstract ? 1 : 0;
  std::size_t size = std::strlen(name);
  if (start + size >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path + start, name, size);
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + start + size + (abstract ? 0 : 1));
  return connect_to(reinterpret_cast<const sockaddr*>(&address), length);
}

// Of a datagram socket: is there a way? Nothing is sent.
int try_inet(const char* host, const char* port, int type) {
  auto number = htons(static_cast<std::uint16_t>(std::strtoul(port, nullptr, 10)));
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = number;
  if (::inet_pton(AF_INET, host, &four.sin_addr) == 1)
    return connect_to(reinterpret_cast<const sockaddr*>(&four), sizeof four, type);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = number;
  if (::inet_pton(AF_INET6, host, &six.sin6_addr) != 1) return EINVAL;
  return connect_to(reinterpret_cast<const sockaddr*>(&six), sizeof six, type);
}

// In a child: whatever the call does, only that ends.
int try_call(char** words) {
  unsigned long argument[7];
  for (int i = 0; i < 7; ++i) argument[i] = std::strtoul(words[i], nullptr, 10);
  pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::alarm(kLongestCall);
    long rc = ::syscall(static_cast<long>(argument[0]), argument[1], argument[2], argument[3], argument[4], argument[5],
                        argument[6]);
    ::_exit(error_of(rc));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

}  // namespace

int attempt(int argc, char** argv) {
  constexpr int kWordsOfCall = 7;
  std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "path" && argc == 3 && argv[2][0] == '/') try_path(argv[2]);
  if (kind == "unix" && argc == 3) say("connect", try_unix(argv[2], false));
  if (kind == "abstract" && argc == 3) say("connect", try_unix(argv[2], true));
  if (kind == "tcp" && argc == 4) say("connect", try_inet(argv[2], argv[3], SOCK_STREAM));
  if (kind == "udp" && argc == 4) say("connect", try_inet(argv[2], argv[3], SOCK_DGRAM));
  if (kind == "call")
    for (int at = 2; at + kWordsOfCall <= argc; at += kWordsOfCall) {
      std::fflush(stdout);
      say("call", try_call(argv + at));
    }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace oncelatch::launcher
