// Random file operations in the working directory, in /tmp, /var/tmp and /dev/shm: a line for each with what came of
// it, then what lies there. The same seed prints the same, wherever the kernel or whoever acts for it does the same.
//
//   file_operations SEED COUNT
//
// What the workspace guard is about isn't among the names. Nothing waits: pipes are opened for both ends or without
// waiting, and read only without waiting.
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/probes/operation_effects.h"
#include "tests/probes/operation_paths.h"

namespace oncelatch::probes {

namespace {

constexpr int kSlots = 10;
constexpr unsigned kMostSeconds = 40;
constexpr rlim_t kMostFileBytes = 1 << 20;

volatile sig_atomic_t too_large = 0;

void count_too_large(int) {
  too_large = too_large + 1;
}

std::string text;  // all that is printed

void write_all() {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t size = ::write(1, text.data() + done, text.size() - done);
    if (size <= 0) return;
    done += static_cast<std::size_t>(size);
  }
}

void out_of_time(int) {
  write_all();
  ::_exit(3);
}

class Operations {
 public:
  Operations(std::uint64_t seed, std::string root) : dice_(seed), paths_(dice_, std::move(root)) {
    std::fill(std::begin(slots_), std::end(slots_), -1);
    root_ = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  void prepare();
  void run(int count);
  void list();

 private:
  struct Base {
    int fd;
    std::string shown;
  };
  struct Row {
    unsigned weight;
    void (Operations::*perform)();
  };
  static const Row kRows[];

  void open_any();
  void open_crowded();
  void create();
  void truncate();
  void make_directory();
  void remove();
  void rename();
  void link();
  void link_symbolically();
  void make_node();
  void bind();
  void connect();
  void change_mode();
  void mask();
  void change_directory();
  void return_to_root();
  void close_one();
  void orphan();
  void orphaned_directory();

  void step();
  void tell(const std::string& call, long result);
  void tell_open(const std::string& call, int fd);
  void keep(int fd);
  Base base();
  [[nodiscard]] bool is_pipe(int directory, const std::string& path) const;
  [[nodiscard]] bool is_plain(const std::string& path) const;
  int opened(int directory, const std::string& path, int flags, unsigned mode, bool by_old_call);
  int flags();
  unsigned permissions();

  Dice dice_;
  Paths paths_;
  int root_ = -1;
  int slots_[kSlots];
  int number_ = 0;
};

const Operations::Row Operations::kRows[] = {{30, &Operations::open_any},
                                             {1, &Operations::open_crowded},
                                             {3, &Operations::create},
                                             {5, &Operations::truncate},
                                             {7, &Operations::make_directory},
                                             {10, &Operations::remove},
                                             {12, &Operations::rename},
                                             {8, &Operations::link},
                                             {8, &Operations::link_symbolically},
                                             {5, &Operations::make_node},
                                             {5, &Operations::bind},
                                             {1, &Operations::connect},
                                             {4, &Operations::change_mode},
                                             {1, &Operations::mask},
                                             {3, &Operations::change_directory},
                                             {8, &Operations::return_to_root},
                                             {3, &Operations::close_one},
                                             {1, &Operations::prepare},
                                             {1, &Operations::orphan},
                                             {1, &Operations::orphaned_directory}};

// Links of every kind, before anything is by chance.
void Operations::prepare() {
  (void)::fchdir(root_);
  for (const char* name : {"d0", "d1", "d2", "d0/d1", "/tmp/d0"}) (void)::mkdir(name, 0755);
  for (const auto& [target, name] : paths_.links()) (void)::symlink(target.c_str(), name.c_str());
  (void)::mkfifo("p0", 0644);
}

void Operations::run(int count) {
  for (number_ = 0; number_ < count; ++number_) step();
}

void Operations::step() {
  unsigned all = 0;
  for (const Row& row : kRows) all += row.weight;
  unsigned chance = dice_.below(all);
  for (const Row& row : kRows) {
    if (chance < row.weight) return (this->*row.perform)();
    chance -= row.weight;
  }
}

void Operations::tell(const std::string& call, long result) {
  text += std::to_string(number_) + " " + call + " = " + outcome(result);
  if (too_large != 0) text += " SIGXFSZ";
  too_large = 0;
  text += "\n";
}

void Operations::tell_open(const std::string& call, int fd) {
  tell(call, fd);
  if (fd < 0) return;
  text += "  " + described(fd, paths_, dice_) + "\n";
  keep(fd);
}

// In place of another one.
void Operations::keep(int fd) {
  int& slot = slots_[dice_.below(kSlots)];
  if (slot >= 0) ::close(slot);
  slot = fd;
}

Operations::Base Operations::base() {
  constexpr int kBad[] = {999, -1, -5};
  const unsigned chance = dice_.below(20);
  if (chance < 11) return {AT_FDCWD, "cwd"};
  if (chance < 14) return {root_, "root"};
  const int fd = chance < 19 ? slots_[dice_.below(kSlots)] : dice_.of(kBad);
  return {fd, std::to_string(fd)};
}

bool Operations::is_pipe(int directory, const std::string& path) const {
  struct stat found {};
  return ::fstatat(directory, path.c_str(), &found, 0) == 0 && S_ISFIFO(found.st_mode);
}

// Without a link or a way back: the broker binds others by their last component, which they are then called by.
bool Operations::is_plain(const std::string& path) const {
  if (path.find("..") != std::string::npos) return false;
  if (path[0] == '/' && path.compare(0, paths_.root().size(), paths_.root()) != 0) return false;
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    struct stat found {};
    if (::lstat(path.substr(0, at).c_str(), &found) != 0 || S_ISLNK(found.st_mode)) return false;
  }
  return true;
}

int Operations::flags() {
  constexpr int kAccess[] = {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY, O_RDWR, O_ACCMODE};
  int flags = dice_.of(kAccess);
  if (dice_.once_in(2)) flags |= O_CREAT;
  if (dice_.once_in(4)) flags |= O_EXCL;
  if (dice_.once_in(4)) flags |= O_TRUNC;
  if (dice_.once_in(5)) flags |= O_APPEND;
  if (dice_.once_in(5)) flags |= O_NOFOLLOW;
  if (dice_.once_in(9)) flags |= O_DIRECTORY;
  if (dice_.once_in(20)) flags |= O_PATH;
  if (dice_.once_in(11)) flags = (flags & ~O_CREAT) | O_TMPFILE;
  if (dice_.once_in(60)) flags |= O_TMPFILE & ~O_DIRECTORY;
  if (dice_.once_in(5)) flags |= O_NONBLOCK;
  if (dice_.once_in(3)) flags |= O_CLOEXEC;
  if (dice_.once_in(12)) flags |= O_NOATIME;
  if (dice_.once_in(20)) flags |= O_SYNC;
  if (dice_.once_in(40)) flags |= 1 << 30;  // means nothing: ignored
  return flags;
}

unsigned Operations::permissions() {
  constexpr unsigned kModes[] = {0644, 0666, 0600, 0755, 0777, 0700, 0444, 0400, 0200, 0, 01777, 0222};
  return dice_.of(kModes);
}

int Operations::opened(int directory, const std::string& path, int flags, unsigned mode, bool by_old_call) {
#ifdef SYS_open
  if (by_old_call && directory == AT_FDCWD) return static_cast<int>(::syscall(SYS_open, path.c_str(), flags, mode));
#endif
  (void)by_old_call;
  return static_cast<int>(::syscall(SYS_openat, directory, path.c_str(), flags, mode));
}

void Operations::open_any() {
  const Base where = base();
  const std::string path = paths_.any();
  int how = flags();
  const unsigned mode = permissions();
  if ((how & O_ACCMODE) != O_RDWR && is_pipe(where.fd, path)) how |= O_NONBLOCK;
  const int fd = opened(where.fd, path, how, mode, dice_.once_in(2));
  tell_open("open " + where.shown + " " + paths_.shown(path) + " " + open_flags(how) + " " + octal(mode), fd);
}

// With no number left for one more descriptor.
void Operations::open_crowded() {
  const int next = ::fcntl(root_, F_DUPFD_CLOEXEC, 0);
  if (next < 0) return;
  ::close(next);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit narrow{static_cast<rlim_t>(next), before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &narrow);
  text += "crowded ";
  open_any();
  ::setrlimit(RLIMIT_NOFILE, &before);
}

void Operations::create() {
  const std::string path = paths_.any();
  const unsigned mode = permissions();
  if (is_pipe(AT_FDCWD, path)) return;
#ifdef SYS_creat
  const int fd = static_cast<int>(::syscall(SYS_creat, path.c_str(), mode));
#else
  const int fd = ::creat(path.c_str(), mode);
#endif
  tell_open("creat " + paths_.shown(path) + " " + octal(mode), fd);
}

void Operations::truncate() {
  constexpr long kLengths[] = {0, 1, 5, 100, 4096, 60000, 2 << 20, -1, 1L << 62};
  const std::string path = paths_.any();
  const long length = dice_.of(kLengths);
  const long result = ::syscall(SYS_truncate, path.c_str(), length);
  tell("truncate " + paths_.shown(path) + " " + std::to_string(length), result);
}

void Operations::make_directory() {
  const Base where = base();
  const std::string path = paths_.any();
  const unsigned mode = dice_.once_in(3) ? permissions() : 0777;
  tell("mkdir " + where.shown + " " + paths_.shown(path) + " " + octal(mode),
       ::syscall(SYS_mkdirat, where.fd, path.c_str(), mode));
}

void Operations::remove() {
  const Base where = base();
  const std::string path = paths_.any();
  const int flags = dice_.once_in(4) ? AT_REMOVEDIR : 0;
  tell("unlink " + where.shown + " " + paths_.shown(path) + " " + std::to_string(flags),
       ::syscall(SYS_unlinkat, where.fd, path.c_str(), flags));
}

void Operations::rename() {
  constexpr unsigned kFlags[] = {0, 0, 0, 0, 1, 2, 2, 3, 4, 8, 1U << 31};  // NOREPLACE 1, EXCHANGE 2, WHITEOUT 4
  const Base where = base();
  const Base to = base();
  const std::string path = paths_.any();
  const std::string other = paths_.any();
  const unsigned flags = dice_.of(kFlags);
  tell("rename " + where.shown + " " + paths_.shown(path) + " " + to.shown + " " + paths_.shown(other) + " " +
           std::to_string(flags),
       ::syscall(SYS_renameat2, where.fd, path.c_str(), to.fd, other.c_str(), flags));
}

void Operations::link() {
  constexpr int kFlags[] = {0, 0, 0, AT_SYMLINK_FOLLOW, AT_SYMLINK_FOLLOW, AT_EMPTY_PATH, 0x2000, 1};
  const Base where = base();
  const Base to = base();
  const int flags = dice_.of(kFlags);
  const std::string path = flags == AT_EMPTY_PATH && !dice_.once_in(5) ? "" : paths_.any();
  const std::string other = paths_.any();
  tell("link " + where.shown + " " + paths_.shown(path) + " " + to.shown + " " + paths_.shown(other) + " " +
           std::to_string(flags),
       ::syscall(SYS_linkat, where.fd, path.c_str(), to.fd, other.c_str(), flags));
}

void Operations::link_symbolically() {
  const Base where = base();
  std::string target = paths_.target();
  if (dice_.once_in(40)) target = std::string(4080 + dice_.below(20), '/') + target;
  const std::string path = paths_.any();
  tell("symlink " + paths_.shown(target) + " " + where.shown + " " + paths_.shown(path),
       ::syscall(SYS_symlinkat, target.c_str(), where.fd, path.c_str()));
}

void Operations::make_node() {
  constexpr unsigned kTypes[] = {S_IFIFO, S_IFIFO, S_IFREG, 0, S_IFSOCK, S_IFDIR, S_IFLNK, S_IFCHR, 0150000};
  const Base where = base();
  const std::string path = paths_.any();
  const unsigned mode = dice_.of(kTypes) | permissions();
  tell("mknod " + where.shown + " " + paths_.shown(path) + " " + octal(mode),
       ::syscall(SYS_mknodat, where.fd, path.c_str(), mode, 0));
}

void Operations::bind() {
  constexpr int kTypes[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  const int domain = dice_.once_in(20) ? AF_INET : AF_UNIX;
  const int type = dice_.of(kTypes);
  int fd = dice_.once_in(6) ? slots_[dice_.below(kSlots)] : ::socket(domain, type | SOCK_CLOEXEC, 0);
  const bool is_new = std::find(std::begin(slots_), std::end(slots_), fd) == std::end(slots_);
  const std::string path = dice_.once_in(12) ? std::string(100 + dice_.below(9), 'y') : paths_.any();
  struct {
    sockaddr_un address;
    char more[64];
  } whole{};
  whole.address.sun_family = static_cast<sa_family_t>(dice_.once_in(20) ? AF_INET : AF_UNIX);
  const std::size_t size = std::min(path.size(), sizeof whole.address.sun_path);
  std::memcpy(whole.address.sun_path, path.data(), size);
  unsigned length = static_cast<unsigned>(offsetof(sockaddr_un, sun_path) + size + dice_.below(2));
  constexpr unsigned kLengths[] = {0, 1, 3, sizeof(sockaddr_un), sizeof(sockaddr_un) + 1, 200, ~0U};
  if (dice_.once_in(6)) length = dice_.of(kLengths);
  const long result = ::syscall(SYS_bind, fd, &whole.address, length);
  tell("bind " + std::to_string(domain) + " " + std::to_string(type) + " " + std::to_string(fd) + " " +
           paths_.shown(path) + " " + std::to_string(whole.address.sun_family) + " " + std::to_string(length),
       result);
  sockaddr_un told{};
  socklen_t told_size = sizeof told;
  if (result == 0 && ::getsockname(fd, reinterpret_cast<sockaddr*>(&told), &told_size) == 0 &&
      told.sun_family == AF_UNIX && told_size > offsetof(sockaddr_un, sun_path) && told.sun_path[0] != 0) {
    const std::string name(told.sun_path, ::strnlen(told.sun_path, sizeof told.sun_path));
    text += "  named ";
    text += is_plain(path) ? std::to_string(told_size) + " " + paths_.shown(name) : name.substr(name.rfind('/') + 1);
    text += "\n";
  }
  if (is_new && fd >= 0) keep(fd);
}

void Operations::connect() {
  const std::string path = paths_.any();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  tell("connect " + paths_.shown(path), ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address));
  ::close(fd);
}

// Not of what lies above the root: no line after it would say much.
void Operations::change_mode() {
  constexpr unsigned kModes[] = {0,    0111, 0222, 0400, 0444, 0500, 0555,  0600, 0644,
                                 0700, 0755, 0755, 0777, 0300, 0100, 01777, 04755};
  const std::string path = paths_.inside();
  const unsigned mode = dice_.of(kModes);
  struct stat found {};
  if (::fstatat(root_, path.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 || S_ISLNK(found.st_mode)) return;
  tell("chmod root " + paths_.shown(path) + " " + octal(mode), ::fchmodat(root_, path.c_str(), mode, 0));
}

void Operations::mask() {
  constexpr mode_t kMasks[] = {0, 022, 022, 027, 077, 0111, 0277, 0777};
  tell("umask", ::umask(dice_.of(kMasks)));
}

void Operations::change_directory() {
  const int fd = slots_[dice_.below(kSlots)];
  if (dice_.once_in(4)) return tell("fchdir " + std::to_string(fd), ::fchdir(fd));
  const std::string path = paths_.any();
  tell("chdir " + paths_.shown(path), ::chdir(path.c_str()));
}

void Operations::return_to_root() {
  ::fchmod(root_, 0755);
  tell("fchdir root", ::fchdir(root_));
}

void Operations::close_one() {
  int& slot = slots_[dice_.below(kSlots)];
  if (slot < 0) return;
  tell("close " + std::to_string(slot), ::close(slot));
  slot = -1;
}

void Operations::orphan() {
  const int fd = ::openat(root_, "orphan", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  tell("orphan", fd);
  if (fd < 0) return;
  ::unlinkat(root_, "orphan", 0);
  keep(fd);
}

void Operations::orphaned_directory() {
  ::mkdirat(root_, "orphans", 0755);
  const int fd = ::openat(root_, "orphans", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  tell("orphaned directory", fd);
  if (fd < 0) return;
  if (dice_.once_in(3)) tell("fchdir into it", ::fchdir(fd));
  ::unlinkat(root_, "orphans", AT_REMOVEDIR);
  keep(fd);
}

void Operations::list() {
  ::fchdir(root_);
  for (int slot : slots_)
    if (slot >= 0) ::close(slot);
  for (const char* name : {".", "/tmp", "/var/tmp", "/dev/shm"}) text += listed(AT_FDCWD, name, root_, paths_);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: file_operations SEED COUNT\n");
    return 2;
  }
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = count_too_large;
  ::sigaction(SIGXFSZ, &action, nullptr);
  action.sa_handler = out_of_time;
  ::sigaction(SIGALRM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::alarm(kMostSeconds);
  rlimit size{};
  ::getrlimit(RLIMIT_FSIZE, &size);
  size.rlim_cur = kMostFileBytes;
  ::setrlimit(RLIMIT_FSIZE, &size);
  char root[4096];
  if (!is_empty("/tmp") || !is_empty("/dev/shm")) return 2;
  if (::getcwd(root, sizeof root) == nullptr) return 2;
  ::umask(022);
  Operations operations(std::strtoull(argv[1], nullptr, 10), root);
  operations.prepare();
  operations.run(std::atoi(argv[2]));
  operations.list();
  write_all();
  return 0;
}

}  // namespace

}  // namespace oncelatch::probes

int main(int argc, char** argv) {
  return oncelatch::probes::main(argc, argv);
}
