#include "terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace kiro {
namespace {

volatile std::sig_atomic_t stop_number = 0;
volatile std::sig_atomic_t resized = 0;
int wake_pipe[2] = {-1, -1};

extern "C" void on_signal(int number) {
  const int saved = errno;
  if (number == SIGWINCH) {
    resized = 1;
  } else if (number != SIGCHLD) {
    stop_number = number;
  }
  const char byte = 0;
  const ssize_t ignored = ::write(wake_pipe[1], &byte, 1);
  static_cast<void>(ignored);
  errno = saved;
}

void handle(int number) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

winsize size_now() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    size.ws_col = 80;
    size.ws_row = 24;
  }
  return size;
}

}  // namespace

Terminal::Terminal() {
  if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) wake_pipe[0] = wake_pipe[1] = -1;
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGWINCH, SIGCHLD}) handle(number);
  std::signal(SIGPIPE, SIG_IGN);
}

Terminal::~Terminal() {
  leave();
}

bool Terminal::enter() {
  if (tcgetattr(STDIN_FILENO, &saved_) != 0) return false;
  termios raw = saved_;
  cfmakeraw(&raw);
  if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) return false;
  raw_ = true;
  write("\x1b[?25l\x1b[?2004h");
  return true;
}

void Terminal::leave() {
  if (!raw_) return;
  raw_ = false;
  write("\x1b[?2004l\x1b[?25h\r\n");
  tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
}

void Terminal::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      pollfd out{STDOUT_FILENO, POLLOUT, 0};
      poll(&out, 1, 100);
      if (stop_number != 0) return;
      continue;
    }
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string Terminal::read() {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (count > 0) return {buffer.data(), static_cast<std::size_t>(count)};
  if (count == 0 || (errno != EINTR && errno != EAGAIN)) closed_ = true;
  return {};
}

std::size_t Terminal::columns() const {
  return size_now().ws_col;
}
std::size_t Terminal::rows() const {
  return size_now().ws_row;
}

Terminal::Ready Terminal::wait(int extra, int wait_ms) {
  std::array<pollfd, 3> sources = {pollfd{closed_ ? -1 : STDIN_FILENO, POLLIN, 0}, pollfd{wake_pipe[0], POLLIN, 0},
                                   pollfd{extra, POLLIN, 0}};
  if (poll(sources.data(), sources.size(), wait_ms) <= 0) return {};
  if (sources[1].revents != 0) {
    std::array<char, 64> drop{};
    while (::read(wake_pipe[0], drop.data(), drop.size()) > 0) {
    }
  }
  return {sources[0].revents != 0, sources[2].revents != 0};
}

int Terminal::stop_signal() const {
  return stop_number;
}

bool Terminal::take_resize() {
  if (resized == 0) return false;
  resized = 0;
  return true;
}

}  // namespace kiro
