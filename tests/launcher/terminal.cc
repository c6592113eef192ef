#include "tests/launcher/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {

Terminal::Terminal(Spawn spawn, std::map<int, int> streams) {
  winsize size{30, 110, 0, 0};
  int keyboard = -1;
  int tty = -1;
  EXPECT_EQ(::openpty(&keyboard, &tty, nullptr, nullptr, &size), 0);
  keyboard_ = Fd(keyboard);
  tty_ = Fd(tty);
  for (int fd : {keyboard, tty}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::tcgetattr(tty, &before_);
  spawn.argv[0] = spawn.path;
  spawn.argv.insert(spawn.argv.begin(), {"setsid", "-c"});  // its controlling terminal
  spawn.path = "/usr/bin/setsid";
  for (int number : {0, 1, 2}) streams.emplace(number, tty);
  spawn.keep = std::move(streams);
  Result<Process> process = oncelatch::start(spawn);
  EXPECT_TRUE(process);
  if (process) process_ = std::move(*process);
}

void Terminal::type(const std::string& keys) const {
  EXPECT_EQ(::write(keyboard_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

bool Terminal::shows(const std::string& text) {
  bool found = eventually([&] {
    drain();
    return screen_.find(text, seen_) != std::string::npos;
  });
  if (found) seen_ = screen_.find(text, seen_) + text.size();
  return found;
}

int Terminal::wait() {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    drain();
    Result<std::optional<ExitStatus>> status = process_.poll();
    if (status && *status) return drain(), (*status)->shell_code();
  }
  return -1;
}

void Terminal::resize(unsigned short rows, unsigned short columns) const {
  winsize size{rows, columns, 0, 0};
  EXPECT_EQ(::ioctl(keyboard_.get(), TIOCSWINSZ, &size), 0);
}

bool Terminal::is_as_before() const {
  termios now{};
  ::tcgetattr(tty_.get(), &now);
  return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag &&
         now.c_cflag == before_.c_cflag;
}

void Terminal::close() {
  tty_.reset();
  keyboard_.reset();
}

void Terminal::drain() {
  pollfd one{keyboard_.get(), POLLIN, 0};
  char buffer[65536];
  while (::poll(&one, 1, 10) > 0) {
    ssize_t count = ::read(keyboard_.get(), buffer, sizeof buffer);
    if (count <= 0) return;
    screen_.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace oncelatch::test
