#include "tests/escapes/child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace oncelatch::escapes {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostKept = std::size_t{4} << 20;
constexpr int kHigh = 100;  // descriptors are moved above this before they take their places

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

struct Prepared {
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::map<int, int> keep;
  int terminal = -1;
};

[[noreturn]] void become(const ChildPlan& plan, const Prepared& prepared) {
  ::setsid();
  if (prepared.terminal >= 0 && plan.controlling) ::ioctl(prepared.terminal, TIOCSCTTY, 0);
  std::map<int, int> high;
  for (const auto& [number, fd] : prepared.keep) high[number] = ::fcntl(fd, F_DUPFD, kHigh);
  int last = 2;
  for (const auto& [number, fd] : high) {
    ::dup2(fd, number);
    for (int between = last + 1; between < number; ++between) ::close(between);
    last = std::max(last, number);
  }
  ::close_range(static_cast<unsigned>(last) + 1, ~0U, 0);
  for (int number = 1; number < 65; ++number) ::signal(number, SIG_DFL);
  if (::geteuid() == 0 && plan.uid != 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(plan.uid, plan.uid, plan.uid) != 0 ||
        ::setresuid(plan.uid, plan.uid, plan.uid) != 0)
      ::_exit(127);
  }
  ::prctl(PR_SET_DUMPABLE, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!plan.directory.empty() && ::chdir(plan.directory.c_str()) != 0) ::_exit(127);
  ::execve(plan.path.c_str(), prepared.argv.data(), prepared.environment.data());
  ::_exit(127);
}

void give(int fd, uid_t uid) {
  if (::geteuid() == 0) (void)!::fchown(fd, uid, uid);
}

}  // namespace

Child Child::start(const ChildPlan& plan) {
  Child child;
  Prepared prepared{pointers(plan.argv), pointers(plan.environment), plan.keep, -1};
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int out[2] = {-1, -1};
  int err[2] = {-1, -1};
  if (plan.terminal) {
    if (::openpty(&out[0], &out[1], nullptr, nullptr, nullptr) != 0) return child;
    winsize size{24, 80, 0, 0};
    ::ioctl(out[1], TIOCSWINSZ, &size);
    termios mode{};
    ::tcgetattr(out[1], &mode);
    if (!plan.echo) mode.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(out[1], TCSANOW, &mode);
    ::fcntl(out[0], F_SETFD, FD_CLOEXEC);
    ::fcntl(out[1], F_SETFD, FD_CLOEXEC);
    give(out[1], plan.uid);
    for (int number : {0, 1, 2}) prepared.keep[number] = out[1];
    prepared.terminal = out[1];
  } else {
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return child;
    give(out[1], plan.uid);
    give(err[1], plan.uid);
    prepared.keep.insert({{0, null.get()}, {1, out[1]}, {2, err[1]}});
  }
  child.out_end_.reset(out[0]);
  child.err_end_.reset(err[0]);
  Fd out_writer(out[1]);
  Fd err_writer(err[1]);
  child.pid_ = ::fork();
  if (child.pid_ == 0) become(plan, prepared);
  if (plan.terminal) child.slave_ = std::move(out_writer);
  return child;
}

Child::~Child() {
  if (pid_ > 0 && !ended_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Child::kill(int signal) const {
  if (pid_ > 0 && !ended_) ::kill(pid_, signal);
}

void Child::type(const std::string& text) const {
  (void)!::write(out_end_.get(), text.data(), text.size());
}

void Child::read_from(Fd& from, std::string& into) {
  char buffer[65536];
  ssize_t got = ::read(from.get(), buffer, sizeof buffer);
  if (got <= 0) return from.reset();
  total_ += static_cast<std::size_t>(got);
  if (into.size() < kMostKept) into.append(buffer, static_cast<std::size_t>(got));
}

void Child::reap() {
  if (ended_ || pid_ <= 0) return;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
  ended_ = true;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool Child::step() {
  pollfd ends[2] = {{out_end_.get(), POLLIN, 0}, {err_end_.get(), POLLIN, 0}};
  ::poll(ends, 2, 20);
  if ((ends[0].revents & (POLLIN | POLLHUP)) != 0) read_from(out_end_, out_);
  if ((ends[1].revents & (POLLIN | POLLHUP)) != 0) read_from(err_end_, err_);
  reap();
  return !ended_;
}

bool Child::read_until(const std::string& text, milliseconds limit) {
  auto end = steady_clock::now() + limit;
  while (steady_clock::now() < end) {
    if (out_.find(text) != std::string::npos) return true;
    if (!step()) break;
  }
  while (ended_ && out_end_) {  // the rest
    pollfd rest{out_end_.get(), POLLIN, 0};
    if (::poll(&rest, 1, 0) <= 0) break;
    read_from(out_end_, out_);
  }
  return out_.find(text) != std::string::npos;
}

Ended Child::finish(milliseconds limit) {
  auto end = steady_clock::now() + limit;
  bool in_time = pid_ > 0;
  while (in_time && step()) in_time = steady_clock::now() < end;
  kill(SIGKILL);
  for (int i = 0; i < 100 && !ended_ && pid_ > 0; ++i) {
    reap();
    if (!ended_) std::this_thread::sleep_for(milliseconds(10));
  }
  for (int i = 0; i < 200; ++i) {
    pollfd ends[2] = {{out_end_.get(), POLLIN, 0}, {err_end_.get(), POLLIN, 0}};
    if (::poll(ends, 2, 0) <= 0) break;
    if (ends[0].revents != 0) read_from(out_end_, out_);
    if (ends[1].revents != 0) read_from(err_end_, err_);
  }
  return {pid_ > 0 ? status_ : 127, in_time, out_, err_};
}

std::set<pid_t>& spared() {
  static std::set<pid_t> processes;
  return processes;
}

void become_subreaper() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

namespace {

std::vector<pid_t> children_of(pid_t of) {
  std::string place = "/proc/" + std::to_string(of) + "/task/" + std::to_string(of) + "/children";
  std::ifstream file(place);
  std::vector<pid_t> found;
  for (pid_t pid = 0; file >> pid;) found.push_back(pid);
  return found;
}

}  // namespace

std::vector<pid_t> descendants(pid_t of) {
  std::vector<pid_t> all = children_of(of);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (pid_t pid : children_of(all[i])) all.push_back(pid);
  return all;
}

// Orphans become our children, so the direct ones are enough, as often as there are any.
void sweep() {
  for (int round = 0; round < 1000; ++round) {
    bool any = false;
    for (pid_t pid : children_of(::getpid())) {
      if (spared().contains(pid)) continue;
      any = true;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    if (!any) return;
  }
}

}  // namespace oncelatch::escapes
