#include "launcher/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace oncelatch::launcher {
namespace {

constexpr std::size_t kMostHeld = std::size_t{64} << 10;    // bytes of output
constexpr std::size_t kMostInput = std::size_t{256} << 10;  // bytes of input

void set_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

std::string_view bytes_of(elicitation::Key key) {
  switch (key) {
    case elicitation::Key::enter:
      return "\r";
    case elicitation::Key::up:
      return "\x1b[A";
    case elicitation::Key::down:
      return "\x1b[B";
  }
  return {};
}

int unread(int fd) {
  int count = 0;
  return ::ioctl(fd, FIONREAD, &count) == 0 ? count : 0;
}

// Writes the front of `held`; false when the other side is gone.
bool drain(int fd, std::string& held) {
  while (!held.empty()) {
    ssize_t written = ::write(fd, held.data(), held.size());
    if (written < 0) return errno == EAGAIN || errno == EINTR;
    held.erase(0, static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<Terminal> Terminal::open(const Clock& clock) {
  Terminal terminal;
  terminal.clock_ = &clock;
  int master = -1;
  int slave = -1;
  winsize size{24, 80, 0, 0};
  if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) {
    return fail_errno("terminal", "inner pty", errno, "check that /dev/ptmx and devpts are usable", "openpty");
  }
  terminal.master_ = Fd(master);
  terminal.slave_ = Fd(slave);
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  ::fcntl(slave, F_SETFD, FD_CLOEXEC);
  set_non_blocking(master);
  return terminal;
}

Status Terminal::connect_pane(Fd tty) {
  if (::isatty(tty.get()) != 1) return fail("terminal", "pane", "the relay's descriptor is no terminal");
  set_non_blocking(tty.get());
  pane_ = std::move(tty);
  follow_size();
  return {};
}

std::vector<pollfd> Terminal::poll_fds() const {
  std::vector<pollfd> fds;
  short master_events = 0;
  if (to_pane_.size() < kMostHeld) master_events |= POLLIN;
  if (!to_agent_.empty()) master_events |= POLLOUT;
  fds.push_back({master_.get(), master_events, 0});
  if (!pane_ || pane_closed_) return fds;
  short pane_events = POLLIN;
  if (!to_pane_.empty()) pane_events |= POLLOUT;
  fds.push_back({pane_.get(), pane_events, 0});
  return fds;
}

bool Terminal::handle_ready() {
  read_pane();
  write_agent();
  bool output = read_agent();
  write_pane();
  return output;
}

void Terminal::read_pane() {
  std::array<char, 4096> buffer{};
  for (int round = 0; round < 64 && pane_ && !pane_closed_; ++round) {
    ssize_t count = ::read(pane_.get(), buffer.data(), buffer.size());
    if (count > 0) {
      std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
      note_input(bytes);
      if (to_agent_.size() + bytes.size() <= kMostInput) to_agent_ += bytes;
      continue;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    pane_closed_ = true;
  }
}

bool Terminal::read_agent() {
  std::array<char, 16384> buffer{};
  bool any = false;
  while (to_pane_.size() < kMostHeld) {
    ssize_t count = ::read(master_.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    any = true;
    if (pane_ && !pane_closed_) to_pane_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return any;
}

void Terminal::write_agent() {
  drain(master_.get(), to_agent_);
}

void Terminal::write_pane() {
  if (pane_ && !pane_closed_ && !drain(pane_.get(), to_pane_)) pane_closed_ = true;
}

void Terminal::follow_size() {
  winsize size{};
  if (pane_ && ::ioctl(pane_.get(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    ::ioctl(master_.get(), TIOCSWINSZ, &size);
  }
}

// Our keys arrive in the order they were announced; whatever differs is a person's.
void Terminal::note_input(std::string_view bytes) {
  std::size_t own = 0;
  for (char c : bytes) {
    // tmux sends cursor keys as CSI or SS3, by the mode the program has set.
    bool same = own < own_keys_.size() && (c == own_keys_[own] || (c == 'O' && own_keys_[own] == '['));
    if (same) {
      ++own;
    } else {
      last_person_input_ = clock_->monotonic();
    }
  }
  own_keys_.erase(0, own);
}

bool Terminal::quiet() {
  read_pane();
  write_agent();
  return to_agent_.empty() && (!pane_ || pane_closed_ || unread(pane_.get()) == 0) && unread(slave_.get()) == 0;
}

void Terminal::expect_own_key(elicitation::Key key) {
  own_keys_ += bytes_of(key);
}

// It was the last one announced; what of it has arrived after all stays taken.
void Terminal::own_key_not_sent(elicitation::Key key) {
  std::string_view bytes = bytes_of(key);
  if (own_keys_.size() >= bytes.size() &&
      own_keys_.compare(own_keys_.size() - bytes.size(), bytes.size(), bytes) == 0) {
    own_keys_.resize(own_keys_.size() - bytes.size());
  }
}

}  // namespace oncelatch::launcher
