// Where a caller's path leads, found by the broker: relative to the caller's own directory and descriptors, inside the
// root that both share. The last component isn't followed: what stands there is the call's to decide.
//
//   Caller caller = callers.find(notification.pid);
//   char text[kMostPathBytes];
//   if (long rc = caller.read_text(address, text); rc < 0) return rc;
//   Descriptor base; Place place;
//   if (long rc = caller.base(directory, text, base); rc < 0) return rc;
//   if (long rc = find_place(caller, base.number, text, place); rc < 0) return rc;
//   openat(place.parent.number, place.name, …);
//
// A path that passes through /proc is walked here, component by component: /proc/self is the caller's, not ours.
// Ownership: a Descriptor closes itself. Threads: one. Failure: -errno, as the kernel would answer the caller. After
// fork: safe; freestanding. Source: path_resolution(7), proc(5).
#pragma once

#include <sys/stat.h>

#include "sandbox/context.h"

namespace oncelatch::sandbox {

inline constexpr unsigned kMostPathBytes = 4096;  // PATH_MAX, with the NUL
inline constexpr int kMostLinks = 40;             // MAXSYMLINKS

inline constexpr unsigned kMostLinkBytes = kMostPathBytes + 1;  // with a slash behind it

using FileStatus = struct statx;

struct Descriptor {
  int number = -1;
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(-1); }
  void reset(int other) {
    if (number >= 0) sys::close(number);
    number = other;
  }
  void take(Descriptor& other) {
    reset(other.number);
    other.number = -1;
  }
  // A result of a system call: kept, or the error.
  long keep(long result) {
    reset(result < 0 ? -1 : static_cast<int>(result));
    return result < 0 ? result : 0;
  }
};

// The thread that made the call, in the broker's pid namespace.
class Caller {
 public:
  // `directory`: /proc/THREAD; `descriptors`: how many it has open, or negative.
  Caller(int thread, int directory, long descriptors)
      : thread_(thread),
        directory_(directory),
        descriptors_(descriptors < 0 ? 0 : static_cast<std::uint64_t>(descriptors)) {}
  // A NUL-terminated text of its memory, at most kMostPathBytes: its length, -EFAULT or -ENAMETOOLONG.
  long read_text(std::uint64_t address, char* into) const;
  long read_bytes(std::uint64_t address, void* into, unsigned size) const;
  // The directory that `path` is relative to: O_PATH; none for an absolute one.
  long base(int directory, const char* path, Descriptor& into) const;
  long open_descriptor(int number, Descriptor& into) const;  // O_PATH of what it has open
  long copy_descriptor(int number, Descriptor& into) const;  // what dup(2) would give it
  [[nodiscard]] int thread() const { return thread_; }
  [[nodiscard]] long process() const;  // -errno
  [[nodiscard]] long umask() const;
  [[nodiscard]] std::uint64_t limit(int resource) const;  // RLIMIT_…, the soft one
  [[nodiscard]] bool has_signal() const;                  // it would be interrupted
  [[nodiscard]] bool is_crowded() const;                  // it can take no more descriptors

 private:
  bool read_status(char* into, unsigned size) const;
  [[nodiscard]] long status_field(const char* name, unsigned radix) const;
  int thread_;
  int directory_;
  std::uint64_t descriptors_;
};

// Those that called last. A directory of /proc stays that of the thread it was opened for, whoever gets its number
// later; so nothing that was learnt of one is taken for another's. Ownership: the directories, never closed at the end.
class Callers {
 public:
  Caller find(int thread);
  // Asked of the kernel once for each: that costs as much as the rest of a call.
  long umask_of(const Caller& caller);
  // Somebody changes it, for whoever shares it.
  void forget_umasks();

 private:
  struct Known {
    int thread;  // 0: none
    int directory;
    long umask;  // -1: not asked for
  };
  static constexpr unsigned kMost = 16;
  Known known_[kMost] = {};
  unsigned next_ = 0;
};

struct Place {
  Descriptor parent;              // O_PATH
  char name[kMostPathBytes];      // the last component; "." for a path without one
  bool slash;                     // stood behind it
  char path[2 * kMostPathBytes];  // its name in the view: "/home/u/project/src/file"
};

// `path` isn't empty. The parent exists, the last component needn't.
long find_place(const Caller& caller, int base, const char* path, Place& place);

// O_PATH of what a place names, its last link followed only with `follow`; -ENOENT and the like.
long open_object(const Caller& caller, Place& place, bool follow, Descriptor& into);

// True for a symbolic link that leads to an object of a process and not to a name.
bool is_magic_link(int directory, unsigned mode);
// The text of a link at a place, NUL-terminated, in kMostLinkBytes; with the place's slash behind it.
long read_link(const Place& place, char* into);

// Its name in the view, in kMostPathBytes: "/home/u/project/src".
long name_of(int descriptor, char* into);

}  // namespace oncelatch::sandbox
