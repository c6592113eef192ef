// A call that waits at the broker, and what its parts are turned into. Only for the broker's own files.
//
//   Place place;
//   char text[kMostPathBytes];
//   if (long rc = request.place(call.directory, call.path, place, text); rc < 0) return Answer::error(rc);
//   const Ruling ruling = rules_.judge_making(place.path, Making::file);
//   if (Ruling done = settle(request, ruling, HeldUse::create, place.path); done != Ruling::allowed) return
//   refusal(done);
//
// Ownership: borrows the notification. Threads: one. Failure: -errno for the caller. After fork: safe; freestanding.
#pragma once

#include <linux/fcntl.h>
#include <linux/fs.h>

#include <cstring>

#include "sandbox/broker.h"
#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

inline bool is_type(const FileStatus& found, unsigned type) {
  return (found.stx_mode & S_IFMT) == type;
}

// Beside its inode: the device, and the birth that tells it from a file that gets the number later.
inline std::uint64_t origin_of(const FileStatus& found) {
  const std::uint64_t device = std::uint64_t{found.stx_dev_major} << 32 | found.stx_dev_minor;
  return device ^
         (static_cast<std::uint64_t>(found.stx_btime.tv_sec) << 30 ^ found.stx_btime.tv_nsec) * 0x9E3779B97F4A7C15ULL;
}

inline long inspect(int descriptor, FileStatus& found) {
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_NLINK | STATX_MODE | STATX_BTIME;
  return sys::call(__NR_statx, descriptor, "", AT_EMPTY_PATH, kWanted, &found);
}

// "/proc/self/fd/N": the object itself, whatever its name is now.
struct ObjectPath {
  SmallText text;
  explicit ObjectPath(int object) { text.text("/proc/self/fd/").number(static_cast<std::uint64_t>(object)); }
  [[nodiscard]] const char* c_str() const { return text.c_str(); }
};

// The last component as the kernel is told it, with the slash that stood behind it.
struct LastName {
  char text[kMostPathBytes + 1];
  explicit LastName(const Place& place) {
    const std::size_t size = std::strlen(place.name);
    std::memcpy(text, place.name, size + 1);
    if (place.slash) std::memcpy(text + size, "/", 2);
  }
};

// Of a rename or a hard link, with what the rules say of each.
struct Broker::TwoNames {
  HeldUse use;
  const char* first;
  Ruling first_ruling;
  int first_place;  // descriptors of the directories, or of the object itself
  const char* second;
  Ruling second_ruling;
  int second_place;

  [[nodiscard]] Ruling ruling() const { return graver(first_ruling, second_ruling); }
  [[nodiscard]] bool is_held() const { return ruling() == Ruling::held; }
  // In different mounts, where the kernel does neither: nobody is asked about what can't be.
  [[nodiscard]] bool are_apart() const {
    FileStatus one{};
    FileStatus other{};
    return sys::call(__NR_statx, first_place, "", AT_EMPTY_PATH, STATX_MNT_ID, &one) == 0 &&
           sys::call(__NR_statx, second_place, "", AT_EMPTY_PATH, STATX_MNT_ID, &other) == 0 &&
           one.stx_mnt_id != other.stx_mnt_id;
  }
};

struct Broker::Request {
  std::uint64_t id;
  Caller caller;
  const BrokeredCall* call;
  const __u64* arguments;
  const seccomp_notif& notification;
  Question* question;  // was asked about it already, or null

  [[nodiscard]] unsigned number(int index) const { return index < 0 ? 0 : static_cast<unsigned>(arguments[index]); }
  [[nodiscard]] int directory(int index) const { return index < 0 ? AT_FDCWD : static_cast<int>(arguments[index]); }
  long text(int index, char* into) const { return caller.read_text(arguments[index], into); }
  // A path that may not be empty.
  long path(int index, char* into) const {
    const long size = text(index, into);
    return size == 0 ? -ENOENT : size;
  }
  // Where it leads.
  long place_of(int directory_index, const char* path, Place& place) const {
    Descriptor base;
    if (long rc = caller.base(directory(directory_index), path, base); rc < 0) return rc;
    return find_place(caller, base.number, path, place);
  }
  // Both of one of its two paths. The text stays in `into`.
  long place(int directory_index, int path_index, Place& place, char* into) const {
    const long size = path(path_index, into);
    return size < 0 ? size : place_of(directory_index, into, place);
  }
};

}  // namespace oncelatch::sandbox
