// Attempts on the workspace guard that take threads or timers, in the working directory:
//
//   guard_probe flip SAFE GUARDED COUNT   COUNT calls each of open, mkdir, symlink, link, rename and truncate, on a
//   name
//                                         that a second thread flips between the two (of one length); prints how often
//                                         GUARDED was there, and how often SAFE was made
//   guard_probe interrupted COUNT         COUNT files made with O_EXCL under a timer signal of 3 kHz; prints the errors
//   guard_probe i386 NAME                 32-bit calls: open with O_CREAT, mkdir, creat, symlink, rename onto NAME
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Flipper {
  std::string safe;
  std::string guarded;
  char text[256] = {};
  std::atomic<bool> stop{false};
};

void* flip(void* argument) {
  auto* flipper = static_cast<Flipper*>(argument);
  while (!flipper->stop.load(std::memory_order_relaxed)) {
    std::memcpy(flipper->text, flipper->guarded.data(), flipper->guarded.size());
    std::memcpy(flipper->text, flipper->safe.data(), flipper->safe.size());
  }
  return nullptr;
}

bool is_there(const std::string& name) {
  struct stat found {};
  return ::lstat(name.c_str(), &found) == 0;
}

// One of the calls, by number; the name may change while it is made.
void make(const char* name, int which) {
  int fd = -1;
  switch (which) {
    case 0:
      fd = ::open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
      break;
    case 1:
      (void)!::mkdir(name, 0755);
      break;
    case 2:
      (void)!::symlink("source", name);
      break;
    case 3:
      (void)!::link("source", name);
      break;
    case 4:
      (void)!::rename("source", name);
      break;
    default:
      fd = ::creat(name, 0644);
      break;
  }
  if (fd >= 0) ::close(fd);
}

void clean(const std::string& name) {
  if (::unlink(name.c_str()) != 0) ::rmdir(name.c_str());
}

int race(const char* safe, const char* guarded, int count) {
  static Flipper flipper;
  flipper.safe = safe;
  flipper.guarded = guarded;
  if (flipper.safe.size() != flipper.guarded.size() || flipper.safe.size() >= sizeof flipper.text) return 2;
  std::memcpy(flipper.text, flipper.safe.data(), flipper.safe.size());
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, flip, &flipper) != 0) return 2;
  int reached = 0;
  int made = 0;
  for (int i = 0; i < count; ++i)
    for (int which = 0; which < 6; ++which) {
      if (!is_there("source")) ::close(::open("source", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
      make(flipper.text, which);
      reached += is_there(flipper.guarded) ? 1 : 0;
      made += is_there(flipper.safe) ? 1 : 0;
      clean(flipper.guarded);
      clean(flipper.safe);
    }
  flipper.stop = true;
  ::pthread_join(thread, nullptr);
  std::printf("guarded %d safe %d\n", reached, made > 0 ? 1 : 0);
  return 0;
}

void nothing(int) {}

int make_while_interrupted(int count) {
  struct sigaction action {};
  action.sa_handler = nothing;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval interval{{0, 333}, {0, 333}};
  ::setitimer(ITIMER_REAL, &interval, nullptr);
  int errors = 0;
  for (int i = 0; i < count; ++i) {
    const std::string name = "file" + std::to_string(i);
    const int fd = ::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0) ++errors;
    if (fd >= 0) ::close(fd);
    if (::unlink(name.c_str()) != 0) ++errors;
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("errors %d\n", errors);
  return 0;
}

#if defined(__x86_64__)
long call_32(long number, const void* first, const void* second, long third) {
  long result = 0;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(first), "c"(second), "d"(third)
                   : "memory", "r8", "r9", "r10", "r11");
  return result;
}

// Memory that a 32-bit pointer reaches.
char* low_text(const char* text) {
  void* place = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (place == MAP_FAILED) std::exit(2);
  std::strcpy(static_cast<char*>(place), text);
  return static_cast<char*>(place);
}

int by_32_bit_calls(const char* name) {
  const char* low = low_text(name);
  const char* source = low_text("source");
  const void* create = reinterpret_cast<const void*>(static_cast<long>(O_CREAT | O_WRONLY));
  ::close(::open("source", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  std::printf("open %ld\n", call_32(5, low, create, 0644));
  std::printf("creat %ld\n", call_32(8, low, reinterpret_cast<const void*>(0644L), 0));
  std::printf("mkdir %ld\n", call_32(39, low, reinterpret_cast<const void*>(0755L), 0));
  std::printf("symlink %ld\n", call_32(83, source, low, 0));
  std::printf("link %ld\n", call_32(9, source, low, 0));
  std::printf("rename %ld\n", call_32(38, source, low, 0));
  return 0;
}
#else
int by_32_bit_calls(const char*) {
  return 2;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "flip" && argc == 5) return race(argv[2], argv[3], std::atoi(argv[4]));
  if (mode == "interrupted" && argc == 3) return make_while_interrupted(std::atoi(argv[2]));
  if (mode == "i386" && argc == 3) return by_32_bit_calls(argv[2]);
  std::fprintf(stderr, "usage: guard_probe flip SAFE GUARDED COUNT | interrupted COUNT | i386 NAME\n");
  return 2;
}
