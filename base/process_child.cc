#include "base/process_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace oncelatch {

namespace {

[[noreturn]] void report(const ChildPlan& plan, ChildStage stage, int error) {
  ChildFault fault{stage, error};
  [[maybe_unused]] ssize_t ignored = ::write(plan.status_fd, &fault, sizeof fault);
  ::_exit(127);
}

// "0" is the writing process.
void enter_groups(const ChildPlan& plan) {
  for (std::size_t i = 0; i < plan.enroll_count; ++i)
    if (::write(plan.enroll[i], "0", 1) != 1) report(plan, ChildStage::groups, errno);
}

void move_above(const ChildPlan& plan, int& fd) {
  if (fd < 0) return;
  int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, plan.first_free);
  if (copy < 0) report(plan, ChildStage::descriptors, errno);
  fd = copy;
}

// First everything needed goes above the numbers asked for, then all is marked close-on-exec, then the kept ones get
// their numbers: dup2 clears the mark. So neither order nor overlap matters.
void place_descriptors(ChildPlan& plan) {
  move_above(plan, plan.status_fd);
  move_above(plan, plan.executable_fd);
  for (ChildPlan::Descriptor& each : plan.descriptors) {
    each.temporary = each.source;
    move_above(plan, each.temporary);
  }
  if (::syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_CLOEXEC) != 0) report(plan, ChildStage::descriptors, errno);
  for (const ChildPlan::Descriptor& each : plan.descriptors) {
    if (::dup2(each.temporary, each.number) < 0) report(plan, ChildStage::descriptors, errno);
  }
}

void reset_signals(const ChildPlan& plan) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number <= 64; ++number) ::sigaction(number, &action, nullptr);  // KILL, STOP, 32, 33 refuse
  sigset_t none;
  ::sigemptyset(&none);
  if (::sigprocmask(SIG_SETMASK, &none, nullptr) != 0) report(plan, ChildStage::signals, errno);
}

void tie_to_parent(const ChildPlan& plan) {
  if (::prctl(PR_SET_PDEATHSIG, plan.death_signal) != 0) report(plan, ChildStage::parent_death, errno);
  if (::getppid() != plan.parent) ::_exit(127);  // it died before the call
}

}  // namespace

const char* child_stage_name(ChildStage stage) {
  switch (stage) {
    case ChildStage::groups:
      return "entering the control group";
    case ChildStage::session:
      return "setsid";
    case ChildStage::parent_death:
      return "prctl(PR_SET_PDEATHSIG)";
    case ChildStage::descriptors:
      return "descriptors";
    case ChildStage::directory:
      return "chdir";
    case ChildStage::signals:
      return "signal mask";
    case ChildStage::execute:
      return "exec";
  }
  return "unknown step";
}

void run_child(ChildPlan& plan) {
  if (plan.death_signal != 0) tie_to_parent(plan);
  enter_groups(plan);
  if (plan.new_session && ::setsid() < 0) report(plan, ChildStage::session, errno);
  place_descriptors(plan);
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) report(plan, ChildStage::directory, errno);
  reset_signals(plan);
  if (plan.executable_fd >= 0) {
    ::syscall(SYS_execveat, plan.executable_fd, "", plan.argv, plan.environment, AT_EMPTY_PATH);
  } else {
    ::execve(plan.path, plan.argv, plan.environment);
  }
  report(plan, ChildStage::execute, errno);
}

}  // namespace oncelatch
