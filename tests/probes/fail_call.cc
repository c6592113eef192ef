// Runs a program and lets one of its system calls fail, once: the kernel skips that call and answers with the errno.
//
//   fail_call list FILE PROGRAM ARGUMENT...          writes a line "PROCESS EXECS CALL NTH" for each call made
//   fail_call fail PROCESS EXECS CALL NTH ERRNO PROGRAM ARGUMENT...
//
// PROCESS is 0 for the first, and 1024 times its maker's number and one more for each that the maker makes, so that it
// doesn't depend on which of two processes is faster; EXECS how often it has exec'ed, NTH from 1 the calls of that
// number in between. The exit code is the program's; 99 when the call to fail was never made; 98 when it ran for too
// long.
#include <elf.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

namespace {

constexpr long kMostChildren = 1024;  // of one process
constexpr int kNeverMade = 99;
constexpr int kTooLong = 98;
constexpr unsigned kLongest = 40;  // seconds

struct Call {
  long process = -1;
  long execs = 0;
  long number = 0;
  long nth = 0;
  bool operator==(const Call&) const = default;
};

struct Tracee {
  long process = -1;  // not told yet who made it
  long children = 0;
  long execs = 0;
  std::map<long, long> made;
  bool failing = false;
  bool waits = false;  // stopped before its maker's event came
};

class Tracer {
 public:
  Tracer(FILE* list, Call wanted, int error) : list_(list), wanted_(wanted), error_(error) {}

  // Until every process has ended; the exit code of the first.
  int follow(pid_t first) {
    tracees_[first].process = 0;
    int code = 0;
    for (;;) {
      int status = 0;
      pid_t pid = ::waitpid(-1, &status, __WALL);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) break;
      if (WIFSTOPPED(status)) {
        stopped(pid, status);
        continue;
      }
      if (pid == first) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      tracees_.erase(pid);
    }
    return list_ == nullptr && !failed_ ? kNeverMade : code;
  }

 private:
  void number_child(pid_t maker_pid) {
    unsigned long child = 0;
    if (::ptrace(PTRACE_GETEVENTMSG, maker_pid, nullptr, &child) != 0) return;
    Tracee& maker = tracees_[maker_pid];
    Tracee& one = tracees_[static_cast<pid_t>(child)];
    if (++maker.children == kMostChildren) ::_exit(2);
    one.process = maker.process * kMostChildren + maker.children;
    if (std::exchange(one.waits, false)) ::ptrace(PTRACE_SYSCALL, static_cast<pid_t>(child), nullptr, 0L);
  }

  void stopped(pid_t pid, int status) {
    int signal = WSTOPSIG(status);
    int event = status >> 16;
    Tracee& one = tracees_[pid];
    if (one.process < 0) {
      one.waits = true;
      return;
    }
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) number_child(pid);
    if (event == PTRACE_EVENT_EXEC) {
      ++one.execs;
      one.made.clear();
    }
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {  // a group stop
      ::ptrace(PTRACE_LISTEN, pid, nullptr, nullptr);
      return;
    }
    if (event == 0 && signal == (SIGTRAP | 0x80)) at_call(pid, one);
    bool own = event != 0 || signal == (SIGTRAP | 0x80);
    ::ptrace(PTRACE_SYSCALL, pid, nullptr, own ? 0L : static_cast<long>(signal));
  }

  void at_call(pid_t pid, Tracee& one) {
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      auto number = static_cast<long>(info.entry.nr);
      Call call{one.process, one.execs, number, ++one.made[number]};
      if (list_ != nullptr) std::fprintf(list_, "%ld %ld %ld %ld\n", call.process, call.execs, call.number, call.nth);
      if (call == wanted_) skip(pid, one);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && one.failing) {
      one.failing = false;
      answer(pid, -error_);
    }
  }

  void skip(pid_t pid, Tracee& one) {
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETREGS, pid, nullptr, &registers) != 0) return;
    registers.orig_rax = ~0ULL;
    if (::ptrace(PTRACE_SETREGS, pid, nullptr, &registers) != 0) return;
    one.failing = true;
    failed_ = true;
  }

  static void answer(pid_t pid, long value) {
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETREGS, pid, nullptr, &registers) != 0) return;
    registers.rax = static_cast<unsigned long long>(value);
    (void)::ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
  }

  FILE* list_;
  Call wanted_;
  int error_;
  bool failed_ = false;
  std::map<pid_t, Tracee> tracees_;
};

void too_long(int) {
  ::_exit(kTooLong);
}

// Waits until it is traced.
pid_t start(char** program) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  pid_t child = ::fork();
  if (child == 0) {
    char word = 0;
    ::close(ends[1]);
    if (::read(ends[0], &word, 1) != 1) ::_exit(125);
    ::close(ends[0]);
    ::execv(program[0], program);
    std::perror(program[0]);
    ::_exit(127);
  }
  ::close(ends[0]);
  constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK |
                            PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
  if (::ptrace(PTRACE_SEIZE, child, nullptr, kOptions) != 0) return -1;
  bool told = ::write(ends[1], "g", 1) == 1;
  ::close(ends[1]);
  return told ? child : -1;
}

}  // namespace

int main(int argc, char** argv) {
  bool list = argc > 3 && std::strcmp(argv[1], "list") == 0;
  bool fail = argc > 7 && std::strcmp(argv[1], "fail") == 0;
  if (!list && !fail) return 2;
  FILE* file = list ? std::fopen(argv[2], "we") : nullptr;
  if (list && file == nullptr) return 2;
  Call wanted;
  if (fail) wanted = {std::atol(argv[2]), std::atol(argv[3]), std::atol(argv[4]), std::atol(argv[5])};
  ::signal(SIGALRM, too_long);
  ::alarm(kLongest);
  pid_t child = start(argv + (list ? 3 : 7));
  if (child < 0) return 2;
  int code = Tracer(file, wanted, fail ? std::atoi(argv[6]) : 0).follow(child);
  if (file != nullptr) std::fclose(file);
  return code;
}
