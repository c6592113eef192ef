// Attempts on the limits: most of them end only by being ended.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/probes/probe.h"

namespace oncelatch::probe {

namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

// Every process makes more, for ever; none gives up.
int fork_bomb(const std::string&) {
  for (;;) (void)!::fork();
}
// Each sleeps for a millisecond before it tries again: what this costs the machine is timers, not processes.
int sleepy_fork_bomb(const std::string&) {
  for (;;)
    if (::fork() < 0) ::usleep(1000);
}

// Children that nobody waits for, as fast as they come.
[[noreturn]] void make_orphans() {
  for (;;) {
    pid_t child = ::fork();
    if (child == 0) ::_exit(::fork() < 0 ? 1 : 0);
    ::waitpid(child, nullptr, 0);
  }
}
// With a flood of signals to the first process beside it, which passes them on.
// A chain that grows at its end: each waits in vfork for the next, so killing it from its head reaches nobody.
int vfork_chain(const std::string& seconds) {
  const time_t end = ::time(nullptr) + std::atoi(seconds.c_str());
  if (::fork() != 0) {
    ::pause();
    return 0;
  }
  ::setsid();
  for (;;) {
    if (::time(nullptr) > end) ::_exit(0);
    if (::vfork() > 0) ::_exit(0);  // NOLINT: the point
  }
}
int orphan_storm(const std::string&) {
  for (int i = 0; i < 2; ++i)
    if (::fork() == 0) make_orphans();
  for (;;) ::kill(1, SIGUSR1);
}

void* sleep_for_ever(void*) {
  for (;;) ::pause();
}
int thread_bomb(const std::string&) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 65536);
  for (pthread_t thread;;)
    if (::pthread_create(&thread, &attributes, sleep_for_ever, nullptr) != 0) ::usleep(1000);
}

// Each waits in its call for the one it made.
int stack_vforks(void*);
int vfork_next() {
  std::vector<char> stack(65536);
  return ::clone(stack_vforks, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
}
int stack_vforks(void*) {
  while (vfork_next() < 0) ::usleep(1000);
  return 0;
}
int vfork_bomb(const std::string&) {
  return stack_vforks(nullptr);
}

int touch(const std::string& mebibytes, int flags) {
  std::size_t most = std::strtoul(mebibytes.c_str(), nullptr, 10);
  for (std::size_t i = 0; i < most; ++i) {
    void* memory = ::mmap(nullptr, kMebibyte, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno;
    std::memset(memory, 1, kMebibyte);
    ::usleep(500);
  }
  return 0;
}
int hog(const std::string& mebibytes) {
  return touch(mebibytes, MAP_PRIVATE);
}
int hog_shared(const std::string& mebibytes) {
  return touch(mebibytes, MAP_SHARED);
}
// None of them is large.
int hog_together(const std::string& mebibytes) {
  constexpr int kChildren = 8;
  std::string share = std::to_string(std::strtoul(mebibytes.c_str(), nullptr, 10) / kChildren);
  for (int i = 0; i < kChildren; ++i) {
    if (::fork() != 0) continue;
    int error = touch(share, MAP_PRIVATE);
    ::sleep(1);  // with the others
    ::_exit(error);
  }
  int status = 0;
  while (::wait(&status) > 0) {
  }
  return 0;
}

// One page in every two mebibytes, read only: all of it is page tables.
int page_tables(const std::string& mebibytes) {
  const std::size_t tables = std::strtoul(mebibytes.c_str(), nullptr, 10) * kMebibyte;
  const std::size_t size = tables / 4096 * (2 * kMebibyte);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return errno;
  ::madvise(mapped, size, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < size; at += 2 * kMebibyte) (void)static_cast<volatile char*>(mapped)[at];
  ::usleep(500'000);
  return 0;
}
int sleep_a_while(void*) {
  ::usleep(300'000);
  return 0;
}
// Children that have this memory until they end, as a program between vfork and exec has.
int lend_memory(const std::string& mebibytes) {
  if (int error = touch(mebibytes, MAP_PRIVATE); error != 0) return error;
  std::vector<char> stack(65536);
  for (int i = 0; i < 3; ++i) {
    pid_t child = ::clone(sleep_a_while, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
    if (child < 0) return errno;
    ::waitpid(child, nullptr, 0);
  }
  return 0;
}
// Of the first process inside.
int take_descriptors(const std::string& pid) {
  rlimit none{0, 0};
  return error_of(::prlimit(std::atoi(pid.c_str()), RLIMIT_NOFILE, &none, nullptr));
}
int make_idle(const std::string& pid) {
  sched_param priority{};
  return error_of(::sched_setscheduler(std::atoi(pid.c_str()), SCHED_IDLE, &priority));
}
int slow_user(const std::string&) {
  return error_of(::setpriority(PRIO_USER, 0, 19));
}

// DIRECTORY:COUNT
int empty_files(const std::string& argument) {
  std::size_t colon = argument.rfind(':');
  std::string prefix = argument.substr(0, colon) + "/empty-";
  long count = std::atol(argument.c_str() + colon + 1);
  for (long i = 0; i < count; ++i) {
    int fd = ::open((prefix + std::to_string(i)).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    ::close(fd);
  }
  return 0;
}
int sparse_file(const std::string& path) {
  constexpr off_t kTebibyte = off_t{1} << 40;
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  return error_of(fd < 0 ? fd : ::ftruncate(fd, kTebibyte));
}

// PATH:BYTES, really written.
int fill(const std::string& argument) {
  std::size_t colon = argument.rfind(':');
  std::string path = argument.substr(0, colon);
  std::size_t bytes = std::strtoull(argument.c_str() + colon + 1, nullptr, 10);
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  ::unlink(path.c_str());
  std::vector<char> zeros(kMebibyte);
  for (std::size_t written = 0; written < bytes;) {
    ssize_t got = ::write(fd, zeros.data(), zeros.size());
    if (got < 0) return errno;
    written += static_cast<std::size_t>(got);
  }
  return 0;
}

}  // namespace

const Named kLimitAttempts[] = {
    {"fork-bomb", fork_bomb},
    {"sleepy-fork-bomb", sleepy_fork_bomb},
    {"orphan-storm", orphan_storm},
    {"vfork-chain", vfork_chain},
    {"thread-bomb", thread_bomb},
    {"vfork-bomb", vfork_bomb},
    {"hog", hog},
    {"hog-shared", hog_shared},
    {"hog-together", hog_together},
    {"page-tables", page_tables},
    {"lend-memory", lend_memory},
    {"take-descriptors", take_descriptors},
    {"make-idle", make_idle},
    {"slow-user", slow_user},
    {"empty-files", empty_files},
    {"sparse-file", sparse_file},
    {"fill", fill},
    {nullptr, nullptr},
};

}  // namespace oncelatch::probe
