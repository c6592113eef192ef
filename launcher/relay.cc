// oncelatch-relay SOCKET: the only program in tmux's pane. It puts its terminal into raw mode, hands the descriptor to
// the supervisor over SOCKET and from then on only tells about changes of the window's size. It ends when either side
// goes away. Exit codes: 0 the supervisor ended, 1 set-up failed.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>

namespace {

bool make_raw() {
  termios mode{};
  if (::tcgetattr(STDIN_FILENO, &mode) != 0) return false;
  ::cfmakeraw(&mode);
  return ::tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0;
}

int connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) return -1;
  std::strcpy(address.sun_path, path);
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
}

bool send_terminal(int connection) {
  char byte = 'T';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) return false;
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  int terminal = STDIN_FILENO;
  std::memcpy(CMSG_DATA(header), &terminal, sizeof terminal);
  return ::sendmsg(connection, &message, MSG_NOSIGNAL) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !make_raw()) return 1;
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGWINCH);
  sigaddset(&watched, SIGHUP);
  sigaddset(&watched, SIGTERM);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  int signals = ::signalfd(-1, &watched, SFD_CLOEXEC);
  int connection = connect_to(argv[1]);
  if (signals < 0 || connection < 0 || !send_terminal(connection)) return 1;
  for (;;) {
    pollfd fds[] = {{signals, POLLIN, 0}, {connection, POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents != 0) return 0;
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
    if (info.ssi_signo != SIGWINCH) return 0;
    if (::send(connection, "W", 1, MSG_NOSIGNAL) != 1) return 0;
  }
}
