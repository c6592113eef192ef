#include "launcher/exec/pump.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostHeld = std::size_t{64} << 10;
constexpr int kMostReads = 16;              // at once: a filter may drop all of it, and signals and the deadline wait
constexpr std::size_t kMostWritten = 4096;  // what a descriptor takes without blocking once it is ready

bool ready(int fd, short events) {
  pollfd entry{fd, events, 0};
  return ::poll(&entry, 1, 0) == 1;
}

// A terminal that isn't ours to reopen keeps its blocking description, and promises no room for more than a byte.
class Interruption {
 public:
  explicit Interruption(bool needed) : needed_(needed) {
    if (!needed_) return;
    struct sigaction wake {};
    wake.sa_handler = [](int) {};  // without SA_RESTART
    ::sigaction(SIGALRM, &wake, &before_);
    const itimerval soon{{0, kInterval}, {0, kInterval}};  // again, should the first come too early
    ::setitimer(ITIMER_REAL, &soon, nullptr);
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption() {
    if (!needed_) return;
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static constexpr suseconds_t kInterval = 100'000;
  bool needed_;
  struct sigaction before_ {};
};

bool may_block(int fd) {
  return ::isatty(fd) == 1 && (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

}  // namespace

Pump::Pump(Side side, Fd from, Fd to, Filter filter)
    : side_(side),
      to_terminal_(::isatty(to.get()) == 1),
      may_block_(may_block(to.get())),
      from_(std::move(from)),
      to_(std::move(to)),
      filter_(std::move(filter)) {}

void Pump::add_entries(std::vector<pollfd>& entries) const {
  if (from_ && held_.size() < kMostHeld) entries.push_back({from_.get(), POLLIN, 0});
  if (to_ && !held_.empty()) entries.push_back({to_.get(), POLLOUT, 0});
}

void Pump::move() {
  write_some();
  read_some();
  write_some();
}

void Pump::read_some() {
  std::array<char, 16384> buffer;
  for (int reads = 0; reads < kMostReads && from_ && held_.size() < kMostHeld && ready(from_.get(), POLLIN); ++reads) {
    ssize_t got = ::read(from_.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return from_.reset();  // the end, or EIO: a terminal without programs
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    if (!to_) continue;
    if (filter_) {
      filter_(bytes, held_);
    } else {
      held_.append(bytes);
    }
  }
}

void Pump::write_some() {
  while (to_ && !held_.empty() && ready(to_.get(), POLLOUT)) {
    const Interruption interruption(may_block_);
    ssize_t put = ::write(to_.get(), held_.data(), std::min(held_.size(), kMostWritten));
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (put < 0) {
      if (errno != EPIPE && errno != EIO) error_ = errno;
      held_.clear();
      to_.reset();
      from_.reset();
      return;
    }
    held_.erase(0, static_cast<std::size_t>(put));
  }
  if (!from_ && held_.empty()) to_.reset();
}

Fd reopen_without_blocking(int fd, int access) {
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  int flags = access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  if ((::fcntl(fd, F_GETFL) & O_APPEND) != 0) flags |= O_APPEND;
  // A regular file keeps its offset only in the same description, and never blocks for long.
  off_t offset = ::lseek(fd, 0, SEEK_CUR);
  Fd again(offset >= 0 ? -1 : ::open(path.c_str(), flags));
  if (!again) again.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  return again;
}

}  // namespace oncelatch::launcher
