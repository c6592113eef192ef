#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/process.h"

namespace oncelatch {

namespace {

using Steady = std::chrono::steady_clock;

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("process", "output", errno, {}, "pipe");
  Pipe made{Fd(ends[0]), Fd(ends[1])};
  ::fcntl(made.read.get(), F_SETFL, O_NONBLOCK);
  return made;
}

// One output of the child, collected up to a bound.
class Collector {
 public:
  Collector(Fd read, std::size_t most) : read_(std::move(read)), most_(most) {}
  [[nodiscard]] int fd() const { return read_.get(); }  // -1 after its end; poll(2) passes over it
  [[nodiscard]] bool full() const { return text_.size() > most_; }
  std::string take() { return std::move(text_); }

  void drain() {
    std::array<char, 16384> buffer;
    while (read_ && !full()) {
      ssize_t got = ::read(read_.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return read_.reset();
      text_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  Fd read_;
  std::size_t most_;
  std::string text_;
};

class BoundedRun {
 public:
  BoundedRun(Process child, Collector out, Collector err, Steady::time_point deadline)
      : child_(std::move(child)), out_(std::move(out)), err_(std::move(err)), deadline_(deadline) {}
  ~BoundedRun() {
    if (child_.running())
      ::kill(-child_.pid(), SIGKILL);  // its session's group; not reaped yet, so the number is its own
  }
  BoundedRun(const BoundedRun&) = delete;
  BoundedRun& operator=(const BoundedRun&) = delete;

  Result<Output> to_the_end(const std::string& path, std::size_t most) {
    for (;;) {
      bool ended = TRY(wait_for_something());
      out_.drain();
      err_.drain();
      if (out_.full() || err_.full()) {
        return fail_errno("process", path, EFBIG, {}, fmt::format("more than {} bytes of output", most));
      }
      if (ended) break;
      if (Steady::now() >= deadline_) return fail_errno("process", path, ETIMEDOUT, {}, "time limit");
    }
    ExitStatus status = TRY(child_.wait(std::chrono::seconds(1)));
    return Output{status, out_.take(), err_.take()};
  }

 private:
  // True when the child has ended.
  Result<bool> wait_for_something() {
    std::array<pollfd, 3> entries{pollfd{child_.pidfd(), POLLIN, 0}, pollfd{out_.fd(), POLLIN, 0},
                                  pollfd{err_.fd(), POLLIN, 0}};
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Steady::now()).count();
    int timeout = static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left, 0, 60'000));
    if (::poll(entries.data(), entries.size(), timeout) < 0 && errno != EINTR) {
      return fail_errno("process", "output", errno, {}, "poll");
    }
    return (entries[0].revents & POLLIN) != 0;
  }

  Process child_;
  Collector out_;
  Collector err_;
  Steady::time_point deadline_;
};

}  // namespace

Result<Output> run_bounded(Spawn spawn, std::size_t most_bytes, std::chrono::milliseconds limit) {
  auto deadline = Steady::now() +
                  std::clamp<std::chrono::milliseconds>(limit, std::chrono::milliseconds(0), std::chrono::hours(24));
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  spawn.keep.emplace(1, out.write.get());
  spawn.keep.emplace(2, err.write.get());
  spawn.new_session = true;
  spawn.death_signal = SIGKILL;
  Process child = TRY(start(spawn));
  out.write.reset();
  err.write.reset();
  BoundedRun run(std::move(child), Collector(std::move(out.read), most_bytes),
                 Collector(std::move(err.read), most_bytes), deadline);
  return run.to_the_end(spawn.path, most_bytes);
}

}  // namespace oncelatch
