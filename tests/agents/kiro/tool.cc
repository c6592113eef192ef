#include "tool.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace kiro {
namespace {

[[noreturn]] void become_shell(const std::string& command, int output, bool with_terminal) {
  setpgid(0, 0);
  if (!with_terminal) {
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  }
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCHLD}) std::signal(number, SIG_DFL);
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  const std::string text = "cannot start /bin/sh: " + errno_name(errno) + "\n";
  const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(ignored);
  _exit(127);
}

}  // namespace

ToolRun::~ToolRun() {
  kill();
}

bool ToolRun::start(const std::string& command, bool with_terminal) {
  kill();
  output_.clear();
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  child_ = fork();
  if (child_ == 0) become_shell(command, ends[1], with_terminal);
  close(ends[1]);
  if (child_ < 0) {
    close(ends[0]);
    return false;
  }
  setpgid(child_, child_);
  pipe_ = ends[0];
  fcntl(pipe_, F_SETFL, O_NONBLOCK);
  return true;
}

void ToolRun::close_pipe() {
  if (pipe_ >= 0) close(pipe_);
  pipe_ = -1;
}

void ToolRun::read_some() {
  std::array<char, 4096> buffer{};
  while (pipe_ >= 0) {
    const ssize_t count = read(pipe_, buffer.data(), buffer.size());
    if (count > 0) {
      const std::size_t room = kOutputLimit - std::min(kOutputLimit, output_.size());
      output_.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) close_pipe();
    return;
  }
}

// The shell's end counts, not the pipe's: a background child may hold the pipe for ever.
void ToolRun::pump() {
  if (child_ <= 0) return;
  read_some();
  int status = 0;
  if (waitpid(child_, &status, WNOHANG) != child_) return;
  read_some();
  close_pipe();
  child_ = -1;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void ToolRun::kill() {
  if (child_ > 0) {
    ::kill(-child_, SIGKILL);
    ::kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    status_ = 128 + SIGKILL;
  }
  close_pipe();
}

int write_file(const std::string& path, const std::string& content, bool append) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0644);
  if (fd < 0) return errno;
  const ssize_t count = write(fd, content.data(), content.size());
  const int problem = count < 0 ? errno : static_cast<std::size_t>(count) < content.size() ? EIO : 0;
  close(fd);
  return problem;
}

int read_all(int fd, std::string& content, std::size_t limit) {
  std::array<char, 4096> buffer{};
  while (content.size() < limit) {
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count == 0) return 0;
    if (count > 0) content.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return 0;
}

int read_file(const std::string& path, std::string& content, std::size_t limit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return errno;
  const int problem = read_all(fd, content, limit);
  close(fd);
  return problem;
}

std::string errno_name(int number) {
  if (number == 0) return "OK";
  const char* const name = strerrorname_np(number);
  return name != nullptr ? name : "errno " + std::to_string(number);
}

}  // namespace kiro
