#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/process_child.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ONCELATCH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ONCELATCH_SANITIZED 1
#endif
#endif
#ifndef ONCELATCH_SANITIZED
#define ONCELATCH_SANITIZED 0
#endif

namespace oncelatch {

namespace {

using Deadline = std::chrono::steady_clock::time_point;

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Status check(const Spawn& spawn) {
  bool path_missing = spawn.executable_fd < 0 && spawn.path.empty();
  if (spawn.argv.empty() || path_missing) return fail("process", spawn.path, "no program or no arguments to start");
  bool nul = has_nul(spawn.path) || has_nul(spawn.directory) ||
             std::any_of(spawn.argv.begin(), spawn.argv.end(), has_nul) ||
             std::any_of(spawn.environment.begin(), spawn.environment.end(), has_nul);
  if (nul) return fail_errno("process", spawn.path, EINVAL, {}, "NUL byte in an argument or variable");
  bool no_group = std::any_of(spawn.enroll.begin(), spawn.enroll.end(), [](int descriptor) { return descriptor < 0; });
  if (no_group) return fail_errno("process", spawn.path, EBADF, {}, "control group to enter");
  for (const auto& [number, descriptor] : spawn.keep) {
    if (number < 0 || descriptor < 0) return fail_errno("process", spawn.path, EBADF, {}, "descriptor to keep");
  }
  return {};
}

// execve takes char*; it doesn't write through them.
std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<ChildPlan::Descriptor> descriptors(const Spawn& spawn, int null_fd) {
  std::map<int, int> all = spawn.keep;
  for (int number : {0, 1, 2}) all.emplace(number, null_fd);
  std::vector<ChildPlan::Descriptor> result;
  for (const auto& [number, source] : all) result.push_back({number, source, -1});
  return result;
}

// The child borrows our memory and this stack until it execs or ends: nothing of a large process is copied. It sets its
// own dispositions and mask, changes no uid (that a thread of ours may be changing), and leaves by exec or _exit only.
// A sanitizer's bookkeeping doesn't survive two processes in one memory: there it is a plain fork.
__attribute__((noinline)) pid_t fork_and_run(ChildPlan& plan) {
#if ONCELATCH_SANITIZED
  pid_t pid = ::fork();
#else
  pid_t pid = ::vfork();
#endif
  if (pid == 0) run_child(plan);
  return pid;
}

// All signals are blocked across it so that no handler of ours runs in the child.
pid_t fork_child(ChildPlan& plan) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork_and_run(plan);
  int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

// Nothing to read means that exec closed the pipe.
std::optional<ChildFault> read_fault(int fd) {
  ChildFault fault{};
  ssize_t got = 0;
  do {
    got = ::read(fd, &fault, sizeof fault);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof fault)) return std::nullopt;
  return fault;
}

ExitStatus exit_status(const siginfo_t& info) {
  return {info.si_code != CLD_EXITED, info.si_status};
}

int milliseconds_until(Deadline deadline) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left, 0, 1'000'000'000));
}

// False: the child had not ended at the deadline.
Result<bool> wait_ready(int pidfd, Deadline deadline) {
  for (;;) {
    pollfd entry{pidfd, POLLIN, 0};
    int ready = ::poll(&entry, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return fail_errno("process", "wait", errno, {}, "poll");
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
}

Deadline deadline_in(std::chrono::milliseconds limit) {
  constexpr std::chrono::hours kLongest{24 * 365};
  return std::chrono::steady_clock::now() +
         std::clamp<std::chrono::milliseconds>(limit, std::chrono::milliseconds(0), kLongest);
}

}  // namespace

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  Process old(std::move(*this));  // ends what ran here
  pid_ = std::exchange(other.pid_, -1);
  pidfd_ = std::move(other.pidfd_);
  return *this;
}

Process::~Process() {
  if (pid_ <= 0) return;
  if (pidfd_) {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0U);
  } else {
    ::kill(pid_, SIGKILL);
  }
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<ExitStatus> Process::wait(std::chrono::milliseconds limit) {
  if (pid_ <= 0) return fail_errno("process", "wait", ECHILD);
  bool ready = TRY(wait_ready(pidfd_.get(), deadline_in(limit)));
  if (!ready) return fail_errno("process", "wait", ETIMEDOUT);
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0) {
    if (errno != EINTR) return fail_errno("process", "wait", errno, {}, "waitid");
  }
  pid_ = -1;
  pidfd_.reset();
  return exit_status(info);
}

Result<std::optional<ExitStatus>> Process::poll() {
  Result<ExitStatus> status = wait(std::chrono::milliseconds(0));
  if (status) return std::optional<ExitStatus>(*status);
  if (status.error().errno_value == ETIMEDOUT) return std::optional<ExitStatus>();
  return Failure(std::move(status.error()));
}

Status Process::signal(int number) const {
  if (pid_ <= 0) return fail_errno("process", "signal", ESRCH);
  if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0U) != 0) {
    return fail_errno("process", "signal", errno, {}, "pidfd_send_signal");
  }
  return {};
}

pid_t Process::detach() {
  pidfd_.reset();
  return std::exchange(pid_, -1);
}

Result<Process> start(const Spawn& spawn) {
  TRY(check(spawn));
  Fd null_fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_fd) return fail_errno("process", "/dev/null", errno, {}, "open");
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("process", spawn.path, errno, {}, "pipe");
  Fd status_read(ends[0]);
  Fd status_write(ends[1]);

  std::vector<char*> argv = pointers(spawn.argv);
  std::vector<char*> environment = pointers(spawn.environment);
  ChildPlan plan;
  plan.path = spawn.path.c_str();
  plan.argv = argv.data();
  plan.environment = environment.data();
  plan.directory = spawn.directory.empty() ? nullptr : spawn.directory.c_str();
  plan.descriptors = descriptors(spawn, null_fd.get());
  plan.first_free = plan.descriptors.back().number + 1;  // ordered by number
  plan.enroll = spawn.enroll.data();
  plan.enroll_count = spawn.enroll.size();
  plan.executable_fd = spawn.executable_fd;
  plan.status_fd = status_write.get();
  plan.parent = ::getpid();
  plan.new_session = spawn.new_session;
  plan.death_signal = spawn.death_signal;

  Process child;
  child.pid_ = fork_child(plan);
  if (child.pid_ < 0) return fail_errno("process", spawn.path, errno, {}, "fork");
  status_write.reset();
  // The child can't be reaped by anybody but us, so its number still means it here.
  child.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0U)));
  if (!child.pidfd_) return fail_errno("process", spawn.path, errno, {}, "pidfd_open");
  if (std::optional<ChildFault> fault = read_fault(status_read.get())) {
    return fail_errno("process", spawn.path, fault->errno_value, {}, child_stage_name(fault->stage));
  }
  return child;
}

Result<std::string> find_system_program(const std::string& name) {
  bool plain = !name.empty() && name.find('/') == std::string::npos && !has_nul(name);
  for (const char* directory : {"/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"}) {
    std::string path = std::string(directory) + "/" + name;
    struct stat status {};
    if (plain && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0)
      return path;
  }
  return fail_errno("process", name, ENOENT, "install it with the system's package manager", "system program");
}

}  // namespace oncelatch
