// oncelatch-relay FIFO: the only program in tmux's pane. It puts its terminal into raw mode, names it to the supervisor
// through FIFO and from then on only tells about changes of the window's size. It ends when either side goes away. It
// connects to nothing: its confinement is the server's. Exit codes: 0 the supervisor ended, 1 set-up failed.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace {

bool make_raw() {
  termios mode{};
  if (::tcgetattr(STDIN_FILENO, &mode) != 0) return false;
  ::cfmakeraw(&mode);
  return ::tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0;
}

// One write, which a pipe takes whole.
bool name_terminal(int fifo) {
  char line[64];
  if (::ttyname_r(STDIN_FILENO, line, sizeof line - 1) != 0) return false;
  std::size_t size = std::strlen(line);
  line[size++] = '\n';
  return ::write(fifo, line, size) == static_cast<ssize_t>(size);
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
  ::signal(SIGPIPE, SIG_IGN);
  int fifo = ::open(argv[1], O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (signals < 0 || fifo < 0 || !name_terminal(fifo)) return 1;
  for (;;) {
    pollfd fds[] = {{signals, POLLIN, 0}, {fifo, 0, 0}};
    if (::poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents != 0) return 0;
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
    if (info.ssi_signo != SIGWINCH) return 0;
    if (::write(fifo, "W", 1) != 1 && errno != EAGAIN) return 0;  // full: it hears of a size anyway
  }
}
