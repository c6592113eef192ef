#include "launcher/exec/streams.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "launcher/exec/terminal_keeper.h"
#include "launcher/output_filter.h"
#include "launcher/runner_commands.h"

namespace oncelatch::launcher {

namespace {

constexpr dev_t kNullDevice = 0x103;  // major 1, minor 3
constexpr std::chrono::seconds kStopKeyCounts{2};

enum class Kind { closed, null, pipe, terminal, other };

// What can't be told is no closed stream, whose output would be lost, nor a file: a terminal's output is filtered.
Result<Kind> kind_of(int fd) {
  struct stat info {};
  std::string name = "stream " + std::to_string(fd);
  if (::fstat(fd, &info) != 0) {
    if (errno == EBADF) return Kind::closed;
    return fail_errno("terminal", name, errno);
  }
  // One with a name is a file of the host: inside, its mode could be changed.
  struct statfs place {};
  if (S_ISFIFO(info.st_mode))
    return ::fstatfs(fd, &place) == 0 && place.f_type == PIPEFS_MAGIC ? Kind::pipe : Kind::other;
  if (!S_ISCHR(info.st_mode)) return Kind::other;
  if (info.st_rdev == kNullDevice) return Kind::null;
  termios mode{};
  if (::tcgetattr(fd, &mode) == 0) return Kind::terminal;
  constexpr int kHungUp = EIO;
  if (errno == ENOTTY || errno == EINVAL || errno == kHungUp) return Kind::other;
  return fail_errno("terminal", name, errno);
}

// One line of a log may come from both.
bool same_object(int one, int other) {
  struct stat first {};
  struct stat second {};
  if (::fstat(one, &first) != 0 || ::fstat(other, &second) != 0) return false;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

void set_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

struct ExecStreams::Filters {
  OutputFilter terminal;  // what the terminal is told at the end depends on what passed through it
  RunnerCommands commands[3];
  std::optional<std::chrono::steady_clock::time_point> stop_key;  // was typed
};

ExecStreams::ExecStreams() : filters_(std::make_unique<Filters>()) {}
ExecStreams::ExecStreams(ExecStreams&&) noexcept = default;

ExecStreams::~ExecStreams() {
  give_back_input();
  if (keeper_) keeper_->restore(filters_->terminal.restore());
}

Result<ExecStreams> ExecStreams::open(bool runner_commands) {
  ExecStreams streams;
  for (int number : {0, 1, 2}) {
    Kind kind = TRY(kind_of(number));
    if (kind == Kind::terminal) streams.terminal_ = number;
    if (kind == Kind::terminal && number == 0) streams.keyboard_ = true;
    if (kind == Kind::pipe && number == 1) streams.shares_keyboard_ = streams.keyboard_;
  }
  if (streams.terminal_ >= 0) TRY(streams.open_terminal(runner_commands));
  for (int number : {0, 1, 2}) TRY(streams.open_stream(number, runner_commands));
  return streams;
}

// A pty of our own, with the mode and size of the caller's terminal.
Status ExecStreams::open_terminal(bool runner_commands) {
  keeper_ = std::make_unique<TerminalKeeper>(terminal_);
  winsize size{};
  (void)::ioctl(terminal_, TIOCGWINSZ, &size);
  int master = -1;
  int slave = -1;
  termios mode = keeper_->mode();
  if (shares_keyboard_) {  // the caller's terminal does both
    mode.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  }
  if (::openpty(&master, &slave, nullptr, &mode, &size) != 0)
    return fail_errno("terminal", "inner pty", errno, "check that /dev/ptmx and devpts are usable");
  master_ = Fd(master);
  slave_ = Fd(slave);
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  ::fcntl(slave, F_SETFD, FD_CLOEXEC);
  set_non_blocking(master);
  // A runner may have given a terminal, too.
  auto filter = [all = filters_.get(), runner_commands](std::string_view bytes, std::string& out) {
    if (!runner_commands) return all->terminal.feed(bytes, out);
    std::string drawn;
    all->terminal.feed(bytes, drawn);
    all->commands[0].feed(drawn, out);
  };
  Fd output(::fcntl(master, F_DUPFD_CLOEXEC, 3));
  pumps_.emplace_back(Pump::Side::from_command, std::move(output), reopen_without_blocking(terminal_, O_WRONLY),
                      filter);
  if (!keyboard_) return {};
  keyboard_pump_ = pumps_.size();
  auto watch = [all = filters_.get(), key = static_cast<char>(keeper_->mode().c_cc[VSUSP])](std::string_view bytes,
                                                                                            std::string& out) {
    if (key != _POSIX_VDISABLE && bytes.find(key) != std::string_view::npos)
      all->stop_key = std::chrono::steady_clock::now();
    out += bytes;
  };
  pumps_.emplace_back(Pump::Side::to_command, reopen_without_blocking(0, O_RDONLY),
                      Fd(::fcntl(master, F_DUPFD_CLOEXEC, 3)), watch);
  return {};
}

Status ExecStreams::open_stream(int number, bool runner_commands) {
  Kind kind = TRY(kind_of(number));
  bool output = number != 0;
  if (kind == Kind::closed || kind == Kind::terminal) return {};  // /dev/null, or the inner pty
  bool as_it_is = kind == Kind::null || (kind == Kind::pipe && !(output && runner_commands));
  if (as_it_is) {
    inside_[number] = Fd(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!inside_[number]) return fail_errno("terminal", "stream " + std::to_string(number), errno, {}, "dup");
    return {};
  }
  if (number == 2 && runner_commands && inside_[1] && same_object(1, 2)) {
    // Through one pipe, else halves of a command meet behind the filters.
    inside_[2] = Fd(::fcntl(inside_[1].get(), F_DUPFD_CLOEXEC, 3));
    return {};
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("terminal", "pipe", errno);
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  if (output) {
    set_non_blocking(read_end.get());
    Pump::Filter filter;
    if (runner_commands)
      filter = [all = filters_.get(), number](std::string_view bytes, std::string& out) {
        all->commands[number].feed(bytes, out);
      };
    pumps_.emplace_back(Pump::Side::from_command, std::move(read_end), reopen_without_blocking(number, O_WRONLY),
                        std::move(filter));
    inside_[number] = std::move(write_end);
  } else {
    set_non_blocking(write_end.get());
    if (::lseek(number, 0, SEEK_CUR) >= 0) {
      file_pump_ = pumps_.size();
      file_pipe_ = Fd(::fcntl(read_end.get(), F_DUPFD_CLOEXEC, 3));
    }
    pumps_.emplace_back(Pump::Side::to_command, reopen_without_blocking(number, O_RDONLY), std::move(write_end));
    inside_[number] = std::move(read_end);
  }
  return {};
}

sandbox::Streams ExecStreams::inside() const {
  return {.terminal = slave_.get(),
          .input = inside_[0].get(),
          .output = inside_[1].get(),
          .error = inside_[2].get(),
          .job_control = true};
}

void ExecStreams::started() {
  for (Fd& fd : inside_) fd.reset();
  slave_.reset();
  if (keeper_) keeper_->take(keyboard_ && !shares_keyboard_);
}

void ExecStreams::add_entries(std::vector<pollfd>& entries) const {
  for (std::size_t i = 0; i < pumps_.size(); ++i)
    if (i != keyboard_pump_ || !waits_for_keyboard()) pumps_[i].add_entries(entries);
}

bool ExecStreams::waits_for_keyboard() const {
  return keyboard_ && (!keeper_->in_foreground() || (shares_keyboard_ && !keeper_->edits_lines()));
}

void ExecStreams::move() {
  auto now = std::chrono::steady_clock::now();
  if (now - bells_refilled_ > std::chrono::seconds(1)) {
    filters_->terminal.refill_bells();
    bells_refilled_ = now;
  }
  const bool has_keyboard = keyboard_ && !waits_for_keyboard();
  if (has_keyboard) keeper_->take(!shares_keyboard_);
  for (std::size_t i = 0; i < pumps_.size(); ++i)
    if (i != keyboard_pump_ || has_keyboard) pumps_[i].move();
}

bool ExecStreams::had_stop_key() {
  const auto typed = std::exchange(filters_->stop_key, {});
  return typed && std::chrono::steady_clock::now() - *typed < kStopKeyCounts;
}

// Returns once it is continued, in front or in the background, or at once where nobody could continue it (an orphaned
// process group).
void ExecStreams::suspend(bool job) {
  const std::string screen = filters_->terminal.restore();
  if (keeper_) keeper_->lend(screen);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::kill(job ? 0 : ::getpid(), SIGTSTP);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  follow_terminal();
}

void ExecStreams::follow_terminal() {
  if (keyboard_) keeper_->take_again();  // a shell that continues a job has given it its own mode
  winsize size{};
  if (terminal_ >= 0 && ::ioctl(terminal_, TIOCGWINSZ, &size) == 0) (void)::ioctl(master_.get(), TIOCSWINSZ, &size);
}

ExecStreams::Left ExecStreams::output_left() const {
  Left left = Left::none;
  for (const Pump& pump : pumps_) {
    if (pump.feeds_command() || pump.done()) continue;
    if (!pump.feeds_terminal()) return Left::for_others;
    left = Left::for_terminal;
  }
  return left;
}

int ExecStreams::output_error() const {
  for (const Pump& pump : pumps_)
    if (!pump.feeds_command() && pump.error() != 0) return pump.error();
  return 0;
}

// Whoever reads the file after us, as a shell does that runs one command for each line, finds what the command left.
void ExecStreams::give_back_input() {
  int piped = 0;
  if (file_pump_ == kNoPump || ::ioctl(file_pipe_.get(), FIONREAD, &piped) != 0) return;
  const auto unread = static_cast<off_t>(pumps_[file_pump_].held()) + piped;
  if (unread > 0) (void)::lseek(STDIN_FILENO, -unread, SEEK_CUR);
}

}  // namespace oncelatch::launcher
