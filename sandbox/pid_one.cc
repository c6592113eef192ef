// The two processes that stay: one outside that hands the exit code on, and pid 1 inside, which reaps orphans and ends
// everything when the lifeline is cut. Neither keeps the plan, the streams or a descriptor it doesn't need.
#include <asm/ioctls.h>
#include <asm/poll.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/signalfd.h>
#include <linux/time_types.h>
#include <sched.h>
#include <signal.h>

#include "sandbox/broker.h"
#include "sandbox/enforce.h"
#include "sandbox/limit_watch.h"
#include "sandbox/signals.h"

namespace oncelatch::sandbox {

namespace {

constexpr long kPatience = 2000;  // milliseconds between SIGTERM and SIGKILL
constexpr int kNoWait = 1;        // WNOHANG
constexpr int kStopped = 2;       // WUNTRACED
constexpr int kMostAtOnce = 128;  // children and signals between two looks at the lifeline

constexpr int kFileTooLarge = 25;  // SIGXFSZ
constexpr int kListenerDescriptor = 9;

Broker broker;  // here, since most of it is a table that is empty

int exit_code(int status) {
  int signal = status & 0x7f;
  return signal == 0 ? (status >> 8) & 0xff : 128 + signal;
}

constexpr unsigned kEntries = 4;

struct Watch {
  pollfd entries[kEntries];
  long deadline = 0;  // 0: none
  bool blind = false;

  // Until a descriptor fires, the deadline or `alarm` (0: none).
  void wait(long alarm) {
    long end = deadline == 0 || (alarm != 0 && alarm < deadline) ? alarm : deadline;
    __kernel_timespec left{};
    if (end != 0) {
      long now = milliseconds_now();
      long milliseconds = end > now ? end - now : 0;
      left.tv_sec = milliseconds / 1000;
      left.tv_nsec = milliseconds % 1000 * 1000000;
    }
    for (pollfd& entry : entries) entry.revents = 0;
    const long rc = sys::call(__NR_ppoll, entries, kEntries, end != 0 ? &left : nullptr, nullptr, 0);
    blind = rc < 0 && rc != -EINTR;
  }
  [[nodiscard]] bool fired(int index) const { return entries[index].revents != 0; }
  [[nodiscard]] bool over() const { return deadline != 0 && milliseconds_now() >= deadline; }
};

// Number of a signal that has come, 0 for none.
int next_signal(int descriptor) {
  signalfd_siginfo information{};
  long got = sys::call(__NR_read, descriptor, &information, sizeof information);
  return got == static_cast<long>(sizeof information) ? static_cast<int>(information.ssi_signo) : 0;
}

void must(long rc, Stage stage, const char* what) {
  if (rc < 0) give_up(stage, failed(rc, what));
}

void move_descriptor(int from, int to) {
  if (from != to) must(sys::call(__NR_dup3, from, to, O_CLOEXEC), Stage::first_process, "dup3");
}

// Moves `descriptor` to the number `to` and the guard's listener to its own, and closes all others but the lifeline,
// the limit pipe, the memory's event and, with a listener, the guard's channel; the status pipe last, so that a failure
// is told. Returns a descriptor of the signals.
int keep_only(int descriptor, int to, std::uint64_t set, int listener = -1) {
  move_descriptor(descriptor, to);
  if (listener >= 0) move_descriptor(listener, kListenerDescriptor);
  must(sys::call(__NR_close_range, 0U, 2U, 0), Stage::first_process, "close_range");
  const unsigned first = listener >= 0 ? kListenerDescriptor + 1 : kGuardDescriptor;
  must(sys::call(__NR_close_range, first, ~0U, 0), Stage::first_process, "close_range");
  long signals = sys::call(__NR_signalfd4, -1, &set, sizeof set, O_CLOEXEC | O_NONBLOCK);
  must(signals, Stage::first_process, "signalfd4");
  must(sys::call(__NR_close_range, 4U, 4U, 0), Stage::first_process, "close_range");
  return static_cast<int>(signals);
}
static_assert(kPlanDescriptor == 3 && kStatusDescriptor == 4 && kLifelineDescriptor == 5 && kLimitDescriptor == 6 &&
              kMemoryDescriptor == 7 && kGuardDescriptor == 8 && kListenerDescriptor == kFirstUnknown);

bool is_stop(int status) {
  return (status & 0xff) == 0x7f;
}

// By itself, and not with 0. Not reaped yet: what it leaves still counts, and so does it.
bool has_failed(int program) {
  constexpr int kByProcess = 1;  // P_PID
  constexpr int kEnded = 4;      // WEXITED
  constexpr int kLeave = 0x01000000;
  constexpr int kExited = 1;  // CLD_EXITED
  siginfo_t information{};
  if (sys::call(__NR_waitid, kByProcess, program, &information, kNoWait | kEnded | kLeave, nullptr) != 0) return false;
  return information.si_signo == kSigchld && information.si_code == kExited && information.si_status != 0;
}

struct Reaped {
  int status = -1;    // the program's, as wait(2) gives it; -1: it runs
  bool more = false;  // there may be more
};

int stopped_words_left = kMostStoppedWords;

void tell_stopped() {
  if (stopped_words_left == 0) return;
  (void)sys::call(__NR_write, kLimitDescriptor, &kStoppedWord, 1);
  --stopped_words_left;
}

// Some of what ended: whoever makes orphans as fast as they are reaped must not keep us from the lifeline.
Reaped reap(int program) {
  Reaped reaped;
  for (int i = 0; i < kMostAtOnce; ++i) {
    int status = 0;
    long pid = sys::call(__NR_wait4, -1, &status, kNoWait | kStopped, nullptr);
    if (pid <= 0) return reaped;
    if (is_stop(status)) {
      if (pid == program) tell_stopped();
      continue;
    }
    if (pid == program) reaped.status = status;
  }
  reaped.more = true;
  return reaped;
}

// A stopped program is woken, so that it can answer. Without job control its process group is an orphaned one, for
// which the kernel drops SIGTSTP.
void pass_signal(Watch& watch, int signal, int program, bool job_control) {
  if (signal == kSigtstp && !job_control) signal = kSigstop;
  if (signal == kSigcont) stopped_words_left = kMostStoppedWords;  // whoever sends it has read them
  (void)sys::call(__NR_kill, -program, signal);
  const bool ends = signal == kSigterm || signal == kSighup;
  if (ends || signal == kSigint || signal == kSigquit) (void)sys::call(__NR_kill, -program, kSigcont);
  if (ends && watch.deadline == 0) watch.deadline = milliseconds_now() + kPatience;
}

// The first process ends, and with it all others.
[[noreturn]] void end_everything() {
  finish(128 + kSigkill);
}

void tell(Ending ending) {
  (void)sys::call(__NR_write, kLimitDescriptor, &ending, sizeof ending);
}

[[noreturn]] void end_at_limit(Ending limit) {
  tell(limit);
  end_everything();
}

[[noreturn]] void end_with_program(int status, bool full) {
  const int signal = status & 0x7f;
  const Ending by_itself = full ? Ending::refused_processes : Ending::exited;
  tell(signal == 0 ? by_itself : signal == kFileTooLarge ? Ending::file_size : Ending::signal);
  finish(exit_code(status));
}

Outcome lead_session(const Context& context) {
  if (long rc = sys::call(__NR_setsid); rc < 0) return failed(rc, "setsid");
  if (has(*context.plan, kPlanTerminal))
    if (long rc = sys::call(__NR_ioctl, terminal_descriptor(), TIOCSCTTY, 0); rc < 0) return failed(rc, "TIOCSCTTY");
  return {};
}

// In the foreground of the session's terminal, where there is one. Every signal is blocked, SIGTTOU too.
Outcome begin_process_group(const Context& context) {
  if (long rc = sys::call(__NR_setpgid, 0, 0); rc < 0) return failed(rc, "setpgid");
  if (!has(*context.plan, kPlanTerminal)) return {};
  const int group = static_cast<int>(sys::call(__NR_getpid));
  if (long rc = sys::call(__NR_ioctl, terminal_descriptor(), TIOCSPGRP, &group); rc < 0) return failed(rc, "TIOCSPGRP");
  return {};
}

void pass_signals(Watch& watch, int signals, int program, bool job_control) {
  for (int i = 0; i < kMostAtOnce; ++i) {
    int signal = next_signal(signals);
    if (signal == 0) return;
    if (signal != kSigchld) pass_signal(watch, signal, program, job_control);
  }
}

void check_limits(const Watch& watch, LimitWatch& limits, long last_moment) {
  if (last_moment != 0 && milliseconds_now() >= last_moment) end_at_limit(Ending::time);
  if (watch.fired(3)) end_at_limit(Ending::memory);
  if (!limits.due()) return;
  if (Ending hit = limits.look(); hit != Ending::unknown) end_at_limit(hit);
}

// Without a pid namespace its end isn't that of all; it sees the lifeline cut too, and has the better means.
void wait_for_first_process(Watch& watch) {
  watch.entries[0].fd = -1;
  watch.entries[2].fd = -1;
  watch.deadline = milliseconds_now() + kPatience;
  (void)sys::call(__NR_pidfd_send_signal, kPlanDescriptor, kSigcont, nullptr, 0);
  while (!watch.fired(1) && !watch.over()) watch.wait(0);
}

// The program's process has a filter whose listener it left in the descriptor table that both shared; -1: it ended
// before.
int receive_listener(const Context& context, int program_pidfd) {
  pollfd entries[2] = {{context.listener_event, POLLIN, 0}, {program_pidfd, POLLIN, 0}};
  long rc = 0;
  do {
    rc = sys::call(__NR_ppoll, entries, 2, nullptr, nullptr, 0);
  } while (rc == -EINTR);
  must(rc, Stage::first_process, "listener");
  std::uint64_t number = 0;
  if ((entries[0].revents & POLLIN) == 0) return -1;
  must(sys::call(__NR_read, context.listener_event, &number, sizeof number), Stage::first_process, "listener");
  return number < kNoListener ? static_cast<int>(number) : -1;
}

// The broker's part of the first process. Until the listener is there both share their descriptors: none is closed.
int begin_brokering(Context& context) {
  if (Outcome outcome = broker.prepare(*context.plan); outcome.error != 0) give_up(Stage::first_process, outcome);
  if (Outcome outcome = load_broker_filter(context); outcome.error != 0) give_up(Stage::seccomp, outcome);
  const int listener = receive_listener(context, context.program_pidfd);
  if (listener < 0) return -1;
  if (Outcome outcome = broker.listen(listener); outcome.error != 0) give_up(Stage::seccomp, outcome);
  return listener;
}

int work_as_broker(void*) {
  broker.work();
  sys::call(__NR_exit, 0);
  return 0;
}

// In a thread: what a call on behalf waits for, nobody else does. It ends with the process, and the process with it.
long start_brokering() {
  constexpr long kGuard = 4096;
  constexpr long kStack = 128 * 1024;
  constexpr long kReadWrite = 3;
  constexpr long kPrivateAnonymous = 0x22;
  const long stack = sys::call(__NR_mmap, nullptr, kGuard + kStack, kReadWrite, kPrivateAnonymous, -1, 0);
  if (stack < 0 && stack > -4096) return stack;
  if (long rc = sys::call(__NR_mprotect, stack, kGuard, 0); rc < 0) return rc;
  constexpr int kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  auto* top = reinterpret_cast<char*>(stack) + kGuard + kStack;
  return ::clone(work_as_broker, top, kThread, nullptr) < 0 ? -EAGAIN : 0;
}

// The launcher's deadline, should the launcher be kept from it: a moment later. 0: none.
long last_moment_of(const WirePlan& plan) {
  constexpr long kMore = 5000;
  return plan.seconds == 0 ? 0 : milliseconds_now() + static_cast<long>(plan.seconds) * 1000 + kMore;
}

// Of two times, 0 for never.
long earlier(long one, long other) {
  if (one == 0 || other == 0) return one + other;
  return one < other ? one : other;
}

}  // namespace

void wait_outside(Context& context) {
  const bool on_host = has(*context.plan, kPlanLandlockTier);
  must(sys::call(__NR_prctl, PR_SET_DUMPABLE, 0), Stage::non_dumpable, "PR_SET_DUMPABLE");
  block_signals(kEverySignal);
  int signals = keep_only(context.inside_pidfd, kPlanDescriptor, kForwarded);
  Watch watch{{{signals, POLLIN, 0}, {kPlanDescriptor, POLLIN, 0}, {kLifelineDescriptor, 0, 0}, {-1, 0, 0}}};
  for (;;) {
    watch.wait(0);
    if (watch.fired(1)) break;
    if (watch.fired(2)) {
      if (on_host) wait_for_first_process(watch);
      (void)sys::call(__NR_pidfd_send_signal, kPlanDescriptor, kSigkill, nullptr, 0);
      break;
    }
    for (int signal = next_signal(signals); signal != 0; signal = next_signal(signals))
      (void)sys::call(__NR_pidfd_send_signal, kPlanDescriptor, signal, nullptr, 0);
  }
  int status = 0;
  while (sys::call(__NR_wait4, context.inside_pid, &status, 0, nullptr) == -EINTR) {
  }
  finish(exit_code(status));
}

// With job control this process leads the session, so that the program's process group, whose parent is in the same
// session, isn't an orphaned one: those can't be stopped at a terminal.
Outcome fork_program(Context& context, int& program) {
  block_signals(kEverySignal);  // no terminal stops who keeps the limits
  if (has(*context.plan, kPlanJobControl))
    if (Outcome outcome = lead_session(context); outcome.error != 0) return outcome;
  unsigned long flags = kSigchld;
  if (has(*context.plan, kPlanGuard)) {
    long event = sys::call(__NR_eventfd2, 0, O_CLOEXEC);
    if (event < 0) return failed(event, "eventfd");
    context.listener_event = static_cast<int>(event);
    flags |= CLONE_FILES | CLONE_PIDFD;
  }
  long pid = sys::call(__NR_clone, flags, nullptr, &context.program_pidfd, nullptr, nullptr);
  if (pid < 0) return failed(pid, "clone");
  program = static_cast<int>(pid);
  return {};
}

void be_first_process(Context& context, int program) {
  LimitWatch limits(*context.plan);
  const bool job_control = has(*context.plan, kPlanJobControl);
  const long last_moment = last_moment_of(*context.plan);
  const bool has_channel = has(*context.plan, kPlanHeldAsked) || has(*context.plan, kPlanHeldRefused);
  const int listener = has(*context.plan, kPlanGuard) ? begin_brokering(context) : -1;
  forget_message(context);
  int signals = keep_only(context.outer_pidfd, kPlanDescriptor, kForwarded | signal_bit(kSigchld), listener);
  broker.move_to(listener < 0 ? -1 : kListenerDescriptor);
  if (has_channel) broker.tell_to(kGuardDescriptor);
  Watch watch{{{signals, POLLIN, 0},
               {kLifelineDescriptor, 0, 0},
               {kPlanDescriptor, POLLIN, 0},
               {kMemoryDescriptor, POLLIN, 0}}};
  if (listener >= 0) must(start_brokering(), Stage::first_process, "broker");
  for (Reaped reaped;;) {
    const long alarm = earlier(last_moment, limits.next_look());
    watch.wait(reaped.more ? milliseconds_now() : alarm);
    if (watch.blind || watch.fired(1) || watch.fired(2) || watch.over()) end_everything();
    check_limits(watch, limits, last_moment);
    if (!watch.fired(0) && !reaped.more) continue;
    pass_signals(watch, signals, program, job_control);
    const bool full = has_failed(program) && limits.refuses_more();
    reaped = reap(program);
    if (reaped.status >= 0) end_with_program(reaped.status, full);
  }
}

// A session of its own with the inner terminal in the foreground, no signal blocked (start() has reset the
// dispositions); with job control, a process group of its own in the first process's session.
Outcome start_session(Context& context) {
  context.dumpable_before = sys::call(__NR_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
  const bool job_control = has(*context.plan, kPlanJobControl);
  Outcome outcome = job_control ? begin_process_group(context) : lead_session(context);
  if (outcome.error == 0) block_signals(0);
  return outcome;
}

}  // namespace oncelatch::sandbox
