#include "sandbox/broker_place.h"

#include <linux/fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/resource.h>
#include <linux/uio.h>

#include <cstring>

#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

constexpr unsigned kPage = 4096;
constexpr unsigned kFirstPart = 256;  // most paths are shorter: no need to copy a page
constexpr std::uint64_t kRootInode = 1;

struct FileSystem {  // struct statfs of 64-bit architectures
  std::uint64_t type;
  std::uint64_t rest[14];
};

bool is_on_proc(int descriptor) {
  FileSystem found{};
  return sys::call(__NR_fstatfs, descriptor, &found) == 0 && found.type == PROC_SUPER_MAGIC;
}

long inspect(int descriptor, FileStatus& found) {
  return sys::call(__NR_statx, descriptor, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &found);
}

bool is_type(unsigned mode, unsigned type) {
  return (mode & S_IFMT) == type;
}

long open_directory(int base, const char* path, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = resolve;
  return sys::call(__NR_openat2, base, path, &how, sizeof how);
}

// Splits off the last component. Returns the length of what stands before it.
long split(const char* path, Place& place) {
  std::size_t end = std::strlen(path);
  place.slash = end > 1 && path[end - 1] == '/';
  while (end > 0 && path[end - 1] == '/') --end;
  std::size_t start = end;
  while (start > 0 && path[start - 1] != '/') --start;
  const std::size_t size = end - start;
  if (size >= sizeof place.name) return -ENAMETOOLONG;  // longer than any path
  std::memcpy(place.name, path + start, size);
  place.name[size] = 0;
  if (size == 0) std::memcpy(place.name, ".", 2);  // "/"
  return static_cast<long>(size == 0 ? 1 : start);
}

// The number behind a field's name.
bool find_field(const char* text, const char* name, unsigned radix, std::uint64_t& value) {
  const char* at = std::strstr(text, name);
  if (at == nullptr) return false;
  at += std::strlen(name);
  while (*at == '\t') ++at;
  for (value = 0;; ++at) {
    unsigned digit = radix;
    if (*at >= '0' && *at <= '9') digit = static_cast<unsigned>(*at - '0');
    if (*at >= 'a' && *at <= 'f') digit = static_cast<unsigned>(*at - 'a') + 10;
    if (digit >= radix) return true;
    value = value * radix + digit;
  }
}

// A path that is walked here: what is left of it, in front of what links say.
class Walk {
 public:
  Walk(const Caller& caller, int base) : caller_(caller), base_(base) {}

  // `size` bytes of `path`, without its last component.
  long run(const char* path, std::size_t size) {
    std::memcpy(rest_, path, size);
    rest_[size] = 0;
    if (long rc = start(); rc < 0) return rc;
    char name[kMostPathBytes];
    for (;;) {
      while (*at_ == '/') ++at_;
      if (*at_ == 0) return here_.keep(open_directory(here_.number, ".", 0));
      std::size_t length = 0;
      while (at_[length] != 0 && at_[length] != '/') ++length;
      if (length >= sizeof name) return -ENAMETOOLONG;
      std::memcpy(name, at_, length);
      name[length] = 0;
      at_ += length;
      if (long rc = step(name); rc < 0) return rc;
    }
  }
  Descriptor& reached() { return here_; }

 private:
  long start() {
    at_ = rest_;
    if (rest_[0] == '/') return here_.keep(sys::call(__NR_openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (here_.number >= 0) return 0;  // a link's text is relative to where it stands
    return here_.keep(sys::call(__NR_openat, base_, ".", O_PATH | O_CLOEXEC));
  }

  long step(const char* name) {
    Descriptor next;
    if (long rc = next.keep(sys::call(__NR_openat, here_.number, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)); rc < 0)
      return rc;
    FileStatus found{};
    if (long rc = inspect(next.number, found); rc < 0) return rc;
    if (is_type(found.stx_mode, S_IFLNK)) return follow(name, found.stx_mode);
    if (!is_type(found.stx_mode, S_IFDIR)) return -ENOTDIR;
    here_.take(next);
    return 0;
  }

  long follow(const char* name, unsigned mode) {
    if (++links_ > kMostLinks) return -ELOOP;
    if (is_magic_link(here_.number, mode))
      return here_.keep(sys::call(__NR_openat, here_.number, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    char text[kMostPathBytes];
    long size = is_on_proc(here_.number) ? own_link(name, text) : 0;
    if (size == 0) size = sys::call(__NR_readlinkat, here_.number, name, text, sizeof text - 1);
    if (size <= 0) return size < 0 ? size : -ENOENT;
    const std::size_t left = std::strlen(at_);
    if (static_cast<std::size_t>(size) + left >= sizeof rest_) return -ELOOP;  // it has gone round with a long text
    std::memmove(rest_ + size, at_, left + 1);                                 // begins with a slash or is empty
    std::memcpy(rest_, text, static_cast<std::size_t>(size));
    return start();
  }

  // "self" and "thread-self" of /proc are the caller's. 0: another link.
  long own_link(const char* name, char* text) const {
    SmallText own;
    const bool thread = std::strcmp(name, "thread-self") == 0;
    if (!thread && std::strcmp(name, "self") != 0) return 0;
    const long process = caller_.process();
    if (process < 0) return process;
    own.number(static_cast<std::uint64_t>(process));
    if (thread) own.text("/task/").number(static_cast<std::uint64_t>(caller_.thread()));
    const std::size_t size = std::strlen(own.c_str());
    std::memcpy(text, own.c_str(), size);
    return static_cast<long>(size);
  }

  const Caller& caller_;
  int base_;
  Descriptor here_;
  char rest_[2 * kMostPathBytes] = {};
  const char* at_ = rest_;
  int links_ = 0;
};

}  // namespace

namespace {

// Of what the directory in /proc is of; negative where it has ended. The size of the list is their number, since 6.2.
long count_descriptors(int directory) {
  FileStatus found{};
  const long rc = sys::call(__NR_statx, directory, "fd", 0, STATX_SIZE, &found);
  return rc < 0 ? rc : static_cast<long>(found.stx_size);
}

}  // namespace

Caller Callers::find(int thread) {
  for (Known& known : known_) {
    if (known.thread != thread) continue;
    if (const long count = count_descriptors(known.directory); count >= 0) return {thread, known.directory, count};
    sys::close(known.directory);  // of one that has ended
    known = {};
  }
  Known& slot = known_[next_++ % kMost];
  if (slot.thread != 0) sys::close(slot.directory);
  SmallText path;
  path.text("/proc/").number(static_cast<std::uint64_t>(thread));
  const long opened = sys::call(__NR_openat, AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  slot = {opened < 0 ? 0 : thread, static_cast<int>(opened), -1};
  return {thread, static_cast<int>(opened), count_descriptors(slot.directory)};
}

long Callers::umask_of(const Caller& caller) {
  for (Known& known : known_) {
    if (known.thread != caller.thread()) continue;
    if (known.umask < 0) known.umask = caller.umask();
    return known.umask;
  }
  return caller.umask();
}

void Callers::forget_umasks() {
  for (Known& known : known_) known.umask = -1;
}

long Caller::read_bytes(std::uint64_t address, void* into, unsigned size) const {
  iovec here{into, size};
  iovec there{reinterpret_cast<void*>(address), size};
  const long got = sys::call(__NR_process_vm_readv, thread_, &here, 1, &there, 1, 0);
  if (got < 0) return got == -EPERM ? -EACCES : got;  // a process that hides its memory makes nothing on behalf
  return got == static_cast<long>(size) ? 0 : -EFAULT;
}

// In parts that end where a page ends: the next one need not exist.
long Caller::read_text(std::uint64_t address, char* into) const {
  for (unsigned held = 0; held < kMostPathBytes;) {
    const auto left_of_page = static_cast<unsigned>(kPage - (address + held) % kPage);
    unsigned part = held == 0 ? kFirstPart : kPage;
    if (part > left_of_page) part = left_of_page;
    if (part > kMostPathBytes - held) part = kMostPathBytes - held;
    if (long rc = read_bytes(address + held, into + held, part); rc < 0) return rc;
    if (const void* end = std::memchr(into + held, 0, part)) return static_cast<const char*>(end) - into;
    held += part;
  }
  return -ENAMETOOLONG;
}

long Caller::open_descriptor(int number, Descriptor& into) const {
  if (number < 0) return -EBADF;
  SmallText path;
  path.text("fd/").number(static_cast<std::uint64_t>(number));
  const long rc = into.keep(sys::call(__NR_openat, directory_, path.c_str(), O_PATH | O_CLOEXEC));
  return rc == -ENOENT ? -EBADF : rc;
}

long Caller::copy_descriptor(int number, Descriptor& into) const {
  const long owner = process();
  Descriptor pidfd;
  const long rc = owner < 0 ? owner : pidfd.keep(sys::call(__NR_pidfd_open, owner, 0));
  return rc < 0 ? rc : into.keep(sys::call(__NR_pidfd_getfd, pidfd.number, number, 0));
}

long Caller::base(int directory, const char* path, Descriptor& into) const {
  if (path[0] == '/') return 0;
  if (directory != AT_FDCWD) return open_descriptor(directory, into);
  return into.keep(sys::call(__NR_openat, directory_, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// The beginning of what /proc says of it, NUL-terminated.
bool Caller::read_status(char* into, unsigned size) const {
  const long fd = sys::call(__NR_openat, directory_, "status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long got = sys::call(__NR_read, fd, into, size - 1);
  sys::close(static_cast<int>(fd));
  if (got <= 0) return false;
  into[got] = 0;
  return true;
}

long Caller::status_field(const char* name, unsigned radix) const {
  char text[512];  // both fields stand at the beginning
  std::uint64_t value = 0;
  return read_status(text, sizeof text) && find_field(text, name, radix, value) ? static_cast<long>(value) : -ESRCH;
}

// Of several threads it need not be this one that a signal of the process wakes: the answer would be left as it is.
bool Caller::has_signal() const {
  char text[4096];
  if (!read_status(text, sizeof text)) return false;
  std::uint64_t threads = 0;
  std::uint64_t own = 0;
  std::uint64_t shared = 0;
  std::uint64_t blocked = 0;
  std::uint64_t ignored = 0;
  const bool known = find_field(text, "\nThreads:", 10, threads) && find_field(text, "\nSigPnd:", 16, own) &&
                     find_field(text, "\nShdPnd:", 16, shared) && find_field(text, "\nSigBlk:", 16, blocked) &&
                     find_field(text, "\nSigIgn:", 16, ignored);
  return known && ((threads == 1 ? own | shared : own) & ~blocked & ~ignored) != 0;
}

long Caller::process() const {
  return status_field("\nTgid:", 10);
}

long Caller::umask() const {
  return status_field("\nUmask:", 8);
}

std::uint64_t Caller::limit(int resource) const {
  struct {
    std::uint64_t soft;
    std::uint64_t hard;
  } found{~0ULL, ~0ULL};
  (void)sys::call(__NR_prlimit64, thread_, resource, nullptr, &found);
  return found.soft;
}

bool Caller::is_crowded() const {
  return descriptors_ >= limit(RLIMIT_NOFILE);
}

bool is_magic_link(int directory, unsigned mode) {
  if (!is_type(mode, S_IFLNK) || !is_on_proc(directory)) return false;
  FileStatus found{};
  return inspect(directory, found) == 0 && found.stx_ino != kRootInode;  // those of /proc itself are names
}

long name_of(int descriptor, char* into) {
  SmallText link;
  link.text("/proc/self/fd/").number(static_cast<std::uint64_t>(descriptor));
  const long size = sys::call(__NR_readlinkat, AT_FDCWD, link.c_str(), into, kMostPathBytes);
  if (size < 0) return size;
  if (size >= static_cast<long>(kMostPathBytes)) return -ENAMETOOLONG;
  into[size] = 0;
  return size;
}

namespace {

// From the parent's name and its own.
long name_place(Place& place) {
  const long size = name_of(place.parent.number, place.path);
  if (size < 0) return size;
  const std::size_t end = size == 1 ? 0 : static_cast<std::size_t>(size);  // "/"
  place.path[end] = '/';
  std::memcpy(place.path + end + 1, place.name, std::strlen(place.name) + 1);
  return 0;
}

bool is_proc(const char* path) {
  return std::strncmp(path, "/proc/", 6) == 0;
}

}  // namespace

// In one call where no link of a process is on the way. What leads through /proc would show ours.
long find_place(const Caller& caller, int base, const char* path, Place& place) {
  const long before = split(path, place);
  if (before < 0) return before;
  const auto size = static_cast<std::size_t>(before);
  char parent[kMostPathBytes + 1];
  std::memcpy(parent, path, size);
  std::memcpy(parent + size, ".", 2);  // found only by who may look up names in it
  long rc = place.parent.keep(open_directory(base, parent, RESOLVE_NO_MAGICLINKS));
  if (rc == 0) rc = name_place(place);
  if (rc == 0 && !is_proc(place.path)) return 0;
  Walk walk(caller, base);
  rc = walk.run(path, size);
  if (rc < 0) return rc;
  place.parent.take(walk.reached());
  return name_place(place);
}

long read_link(const Place& place, char* into) {
  const long size = sys::call(__NR_readlinkat, place.parent.number, place.name, into, kMostPathBytes);
  if (size <= 0) return size < 0 ? size : -ENOENT;
  if (size >= static_cast<long>(kMostPathBytes)) return -ENAMETOOLONG;
  std::size_t end = static_cast<std::size_t>(size);
  if (place.slash) into[end++] = '/';
  into[end] = 0;
  return static_cast<long>(end);
}

long open_object(const Caller& caller, Place& place, bool follow, Descriptor& into) {
  for (int links = 0;; ++links) {
    long rc = into.keep(sys::call(__NR_openat, place.parent.number, place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (rc < 0) return rc;
    FileStatus found{};
    if (rc = inspect(into.number, found); rc < 0) return rc;
    if (!is_type(found.stx_mode, S_IFLNK) || !(follow || place.slash)) {
      if (place.slash && !is_type(found.stx_mode, S_IFDIR)) return -ENOTDIR;
      return 0;
    }
    if (links >= kMostLinks) return -ELOOP;
    if (is_magic_link(place.parent.number, found.stx_mode)) {
      const unsigned flags = place.slash ? O_PATH | O_DIRECTORY | O_CLOEXEC : O_PATH | O_CLOEXEC;
      return into.keep(sys::call(__NR_openat, place.parent.number, place.name, flags));
    }
    char text[kMostLinkBytes];
    if (rc = read_link(place, text); rc < 0) return rc;
    Descriptor base;
    base.take(place.parent);
    if (rc = find_place(caller, base.number, text, place); rc < 0) return rc;
  }
}

}  // namespace oncelatch::sandbox
