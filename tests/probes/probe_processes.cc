#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/probes/probe.h"

namespace oncelatch::probe {

namespace {

pid_t pid_of(const std::string& text) {
  return static_cast<pid_t>(std::atoi(text.c_str()));
}

int send_signal(const std::string& pid) {
  return error_of(::kill(pid_of(pid), 0));
}
int kill_it(const std::string& pid) {
  return error_of(::kill(pid_of(pid), SIGKILL));
}

// Of pid 1 (and of any number that exists only outside).
int read_memory(const std::string& pid) {
  char byte;
  iovec local{&byte, 1};
  iovec remote{reinterpret_cast<void*>(0x400000), 1};
  return error_of(::process_vm_readv(pid_of(pid), &local, 1, &remote, 1, 0));
}
int write_memory(const std::string& pid) {
  char byte = 0;
  iovec local{&byte, 1};
  iovec remote{reinterpret_cast<void*>(0x400000), 1};
  return error_of(::process_vm_writev(pid_of(pid), &local, 1, &remote, 1, 0));
}
int advise(const std::string& pid) {
  int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_of(pid), 0));
  iovec range{};
  return error_of(::syscall(SYS_process_madvise, fd, &range, 1, 21, 0));
}
int steal_descriptor(const std::string& pid) {
  int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_of(pid), 0));
  return error_of(::syscall(SYS_pidfd_getfd, fd, 0, 0));
}
int compare(const std::string& pid) {
  return error_of(::syscall(SYS_kcmp, pid_of(pid), ::getpid(), 0, 0, 0));
}
int trace_me(const std::string&) {
  return error_of(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
}
int attach(const std::string& pid) {
  return error_of(::ptrace(PTRACE_ATTACH, pid_of(pid), nullptr, nullptr));
}
int seize(const std::string& pid) {
  return error_of(::ptrace(PTRACE_SEIZE, pid_of(pid), nullptr, nullptr));
}

// Of a child of its own, as a debugger or LeakSanitizer does.
int trace_child(const std::string&) {
  pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  int error = error_of(::ptrace(PTRACE_SEIZE, child, nullptr, nullptr));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, __WALL);
  return error;
}

int unshare_user(const std::string&) {
  return error_of(::unshare(CLONE_NEWUSER));
}
int unshare_mount(const std::string&) {
  return error_of(::unshare(CLONE_NEWNS));
}
int unshare_all(const std::string&) {
  return error_of(::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS));
}
int clone_user(const std::string&) {
  long pid = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) ::_exit(0);
  return error_of(pid);
}
int clone3_user(const std::string&) {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) ::_exit(0);
  return error_of(pid);
}
int enter_namespace(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return error_of(::setns(fd, 0));
}

// Processes besides pid 1, this one, its parent.
int foreign_process(const std::string&) {
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return errno;
  int others = 0;
  while (dirent* entry = ::readdir(proc)) {
    long pid = std::strtol(entry->d_name, nullptr, 10);
    if (pid > 1 && pid != ::getpid() && pid != ::getppid()) ++others;
  }
  ::closedir(proc);
  return others > 0 ? 0 : ESRCH;
}
int become_root(const std::string&) {
  if (::geteuid() == 0) return EPERM;  // already, and without a capability
  return error_of(::setuid(0));
}
int attach_shared_memory(const std::string& identifier) {
  void* memory = ::shmat(std::atoi(identifier.c_str()), nullptr, SHM_RDONLY);
  return memory == reinterpret_cast<void*>(-1) ? errno : 0;
}
int open_queue(const std::string& name) {
  return error_of(::syscall(SYS_mq_open, name.c_str(), O_RDONLY, 0, nullptr));
}
// Children until it fails: how many came is the result's "OK" or the errno of the last.
int fork_many(const std::string& most) {
  std::size_t count = std::strtoul(most.c_str(), nullptr, 10);
  int error = 0;
  std::vector<pid_t> children;
  while (children.size() < count && error == 0) {
    pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::pause();
    }
    if (child < 0)
      error = errno;
    else
      children.push_back(child);
  }
  for (pid_t child : children) ::kill(child, SIGKILL);
  for (pid_t child : children) ::waitpid(child, nullptr, 0);
  return error;
}
int run_from_memory_with(const std::string& path, char* const* arguments) {
  int source = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int memory = static_cast<int>(::syscall(SYS_memfd_create, "x", 0U));
  char buffer[65536];
  for (long got = ::read(source, buffer, sizeof buffer); got > 0; got = ::read(source, buffer, sizeof buffer))
    if (::write(memory, buffer, static_cast<std::size_t>(got)) != got) return EIO;
  pid_t child = ::fork();
  if (child == 0) {
    ::syscall(SYS_execveat, memory, "", arguments, environ, AT_EMPTY_PATH);
    ::_exit(errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
int run_from_memory(const std::string& path) {
  char* arguments[] = {const_cast<char*>("true"), nullptr};
  return run_from_memory_with(path, arguments);
}
// This very program, from memory, with another attempt.
int attempt_from_memory(const std::string& word) {
  char* arguments[] = {const_cast<char*>("probe"), const_cast<char*>("--code"), const_cast<char*>(word.c_str()),
                       nullptr};
  return run_from_memory_with("/proc/self/exe", arguments);
}

int signal_thread(const std::string& pid) {
  return error_of(::syscall(SYS_tgkill, pid_of(pid), pid_of(pid), 0));
}
int signal_on_input(const std::string& pid) {
  int ends[2];
  if (::pipe(ends) != 0) return errno;
  return error_of(::fcntl(ends[0], F_SETOWN, pid_of(pid)));
}

}  // namespace

const Named kProcessAttempts[] = {
    {"signal", send_signal},
    {"kill", kill_it},
    {"vm-read", read_memory},
    {"vm-write", write_memory},
    {"process-madvise", advise},
    {"pidfd-getfd", steal_descriptor},
    {"kcmp", compare},
    {"ptrace-me", trace_me},
    {"ptrace-attach", attach},
    {"ptrace-seize", seize},
    {"ptrace-child", trace_child},
    {"unshare-user", unshare_user},
    {"unshare-mount", unshare_mount},
    {"unshare-all", unshare_all},
    {"clone-user", clone_user},
    {"clone3-user", clone3_user},
    {"setns", enter_namespace},
    {"foreign-process", foreign_process},
    {"setuid-root", become_root},
    {"shmat", attach_shared_memory},
    {"mq-open", open_queue},
    {"fork-many", fork_many},
    {"memfd-exec", run_from_memory},
    {"memfd-attempt", attempt_from_memory},
    {"tgkill", signal_thread},
    {"sigio", signal_on_input},
    {nullptr, nullptr},
};

}  // namespace oncelatch::probe
