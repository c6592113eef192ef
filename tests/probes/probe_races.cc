// Attempts of several steps: a checked argument that changes, mounts that are shed.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "tests/probes/probe.h"

namespace oncelatch::probe {

namespace {

constexpr int kTries = 30'000;
constexpr double kMostSeconds = 1.5;
constexpr std::size_t kRoom = 512;

// One argument in shared memory that a second process flips between two texts of one length (padded with slashes).
class FlippedArgument {
 public:
  FlippedArgument(const std::string& both) {
    std::size_t colon = both.find(':');
    first_ = both.substr(0, colon);
    second_ = both.substr(colon + 1);
    std::string& shorter = first_.size() < second_.size() ? first_ : second_;
    shorter.insert(0, std::max(first_.size(), second_.size()) - shorter.size(), '/');
    void* memory = ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    text_ = static_cast<char*>(memory);
    if (first_.size() < kRoom) std::memcpy(text_, first_.c_str(), first_.size() + 1);
  }
  FlippedArgument(const FlippedArgument&) = delete;
  FlippedArgument& operator=(const FlippedArgument&) = delete;
  ~FlippedArgument() {
    if (flipper_ > 0) ::kill(flipper_, SIGKILL);
    if (flipper_ > 0) ::waitpid(flipper_, nullptr, 0);
    ::munmap(text_, kRoom);
  }
  [[nodiscard]] bool fits() const { return first_.size() < 100; }
  [[nodiscard]] const std::string& second() const { return second_; }
  [[nodiscard]] const char* text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return first_.size(); }
  void start() {
    flipper_ = ::fork();
    if (flipper_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
      std::memcpy(text_, second_.data(), second_.size());
      std::memcpy(text_, first_.data(), first_.size());
    }
  }

 private:
  std::string first_;
  std::string second_;
  char* text_ = nullptr;
  pid_t flipper_ = -1;
};

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// `call` returns 0 when it reached the second, an errno otherwise.
template <class Call>
int race(const std::string& both, Call call) {
  FlippedArgument argument(both);
  if (!argument.fits()) return ENAMETOOLONG;
  argument.start();
  double end = now() + kMostSeconds;
  int last = EPERM;
  for (int i = 0; i < kTries && now() < end; ++i) {
    int error = call(argument);
    if (error == 0) return 0;
    if (error > 0) last = error;
  }
  return last;
}

// MINE:THEIRS. Got through when a writable descriptor of THEIRS came back.
int race_write(const std::string& both) {
  struct stat mine {};
  ::stat(both.substr(0, both.find(':')).c_str(), &mine);
  return race(both, [&](const FlippedArgument& argument) {
    int fd = ::open(argument.text(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    struct stat opened {};
    ::fstat(fd, &opened);
    ::close(fd);
    return opened.st_ino == mine.st_ino && opened.st_dev == mine.st_dev ? -1 : 0;
  });
}

int race_connect(const std::string& both) {
  return race(both, [](const FlippedArgument& argument) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, argument.text(), argument.size());
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    int error = error_of(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address));
    ::close(fd);
    return error;
  });
}

// DIR:NAME. A user namespace of its own, a new root without the old mounts, then a rename through a kept descriptor.
int shed_mounts(const std::string& text) {
  std::size_t colon = text.find(':');
  std::string name = text.substr(colon + 1);
  int directory = ::open(text.substr(0, colon).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return errno;
  if (::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) != 0 || ::mkdir("/tmp/old", 0700) != 0) return errno;
  if (::syscall(SYS_pivot_root, "/tmp", "/tmp/old") != 0 || ::umount2("/old", MNT_DETACH) != 0) return errno;
  return error_of(::renameat(directory, name.c_str(), directory, (name + ".shed").c_str()));
}

}  // namespace

const Named kRaceAttempts[] = {
    {"race-write", race_write},
    {"race-connect", race_connect},
    {"shed-mounts", shed_mounts},
    {nullptr, nullptr},
};

}  // namespace oncelatch::probe
