#include "sandbox/new_worktree.h"

#include <asm/errno.h>
#include <linux/fcntl.h>

#include <cstring>

#include "sandbox/broker_request.h"
#include "sandbox/directory_names.h"

namespace oncelatch::sandbox {

namespace {

constexpr const char* kAddress = "gitdir";
constexpr const char* kShared = "commondir";
constexpr const char* kPointer = ".git";
constexpr unsigned kNameless = 020000000 | O_DIRECTORY | O_WRONLY | O_EXCL | O_CLOEXEC;  // O_TMPFILE

// A file's text: a place's path fits.
class Line {
 public:
  Line(const char* front, const char* path) {
    add(front);
    add(path);
    add("\n");
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  [[nodiscard]] const char* c_str() const { return bytes_; }

 private:
  void add(const char* more) {
    const std::size_t size = std::strlen(more);
    if (size_ + size >= sizeof bytes_) return;
    std::memcpy(bytes_ + size_, more, size + 1);
    size_ += size;
  }
  char bytes_[2 * kMostPathBytes + 16] = {};
  std::size_t size_ = 0;
};

// Of a file in a directory, which is called as it is now.
class Inside {
 public:
  Inside(int directory, const char* name) {
    const long size = name_of(directory, path_);
    const std::size_t more = std::strlen(name) + 1;
    if (size < 0 || static_cast<std::size_t>(size) + more >= sizeof path_) return;
    size_ = static_cast<std::size_t>(size);
    path_[size_] = '/';
    std::memcpy(path_ + size_ + 1, name, more);
  }
  [[nodiscard]] const char* path() const { return size_ == 0 ? "" : path_; }
  // Its directory's, for good.
  [[nodiscard]] const char* directory() {
    path_[size_] = 0;
    return path_;
  }

 private:
  char path_[kMostPathBytes];
  std::size_t size_ = 0;
};

// For git to write into; nobody can give it a name.
long nameless(int directory) {
  constexpr unsigned kPrivate = 0600;
  return sys::call(__NR_openat, directory, ".", kNameless, kPrivate);
}

struct NewFile {
  int directory;
  const char* name;
  const char* text;

  void remove() const { (void)sys::call(__NR_unlinkat, directory, name, 0); }
  [[nodiscard]] long write() const {
    constexpr unsigned kMake = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    constexpr unsigned kMode = 0666;  // as git's
    Descriptor file;
    if (long rc = file.keep(sys::call(__NR_openat, directory, name, kMake, kMode)); rc < 0) return rc;
    const std::size_t size = std::strlen(text);
    const long written = sys::call(__NR_write, file.number, text, size);
    if (written == static_cast<long>(size)) return 0;
    remove();
    return written < 0 ? written : -EIO;
  }
};

// All, or none.
template <unsigned Count>
long write_all(const NewFile (&files)[Count]) {
  for (unsigned made = 0; made < Count; ++made) {
    const long rc = files[made].write();
    if (rc == 0) continue;
    while (made > 0) files[--made].remove();
    return rc;
  }
  return 0;
}

// But for one name.
bool is_empty(int directory, const char* besides) {
  Descriptor opened;
  if (opened.keep(sys::call(__NR_openat, directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) return false;
  DirectoryNames names(opened.number);
  while (const char* name = names.next())
    if (std::strcmp(name, besides) != 0) return false;
  return names.error() == 0;
}

// Exactly the path, and a line's end. From its beginning: a descriptor of its own.
bool says(int text, const char* path) {
  char bytes[kMostPathBytes + 1];
  Descriptor file;
  if (file.keep(sys::call(__NR_openat, AT_FDCWD, ObjectPath(text).c_str(), O_RDONLY | O_CLOEXEC)) < 0) return false;
  const long got = sys::call(__NR_read, file.number, bytes, sizeof bytes);
  const std::size_t size = std::strlen(path);
  return got == static_cast<long>(size + 1) && std::memcmp(bytes, path, size) == 0 && bytes[size] == '\n';
}

}  // namespace

void NewWorktrees::forget(One& one) {
  if (one.state == One::State::none) return;
  sys::close(one.own);
  sys::close(one.text);
  one = {};
}

long NewWorktrees::begin(const GuardRules& rules, const Place& place) {
  if (std::strcmp(place.name, kAddress) != 0 || !rules.is_of_new_worktree(place.path)) return -EACCES;
  Descriptor own;
  Descriptor text;
  Descriptor kept;
  long rc = own.keep(sys::call(__NR_openat, place.parent.number, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (rc == 0) rc = text.keep(nameless(place.parent.number));
  if (rc == 0) rc = kept.keep(sys::call(__NR_openat, AT_FDCWD, ObjectPath(text.number).c_str(), O_RDONLY | O_CLOEXEC));
  if (rc < 0) return -EACCES;  // a file system without such files
  One& one = all_[next_++ % kMost];
  forget(one);
  one = {One::State::begun, own.number, kept.number};
  const long handed = text.number;
  own.number = text.number = kept.number = -1;
  return handed;
}

long NewWorktrees::link(const GuardRules& rules, const Place& place) {
  if (std::strcmp(place.name, kPointer) != 0) return -EACCES;
  for (unsigned i = 1; i <= kMost; ++i) {  // the newest first: another may have come to nothing
    One& one = all_[(next_ - i) % kMost];
    if (one.state != One::State::begun || !says(one.text, place.path)) continue;
    if (const long rc = link(one, rules, place); rc != -EACCES) return rc;
  }
  return -EACCES;
}

// What both directories are is looked at now: nobody inside moves or makes anything meanwhile but by us.
long NewWorktrees::link(One& one, const GuardRules& rules, const Place& place) {
  constexpr const char* kLock = "locked";  // git's own, until it is done
  Inside own(one.own, kAddress);
  if (!rules.is_of_new_worktree(own.path()) || !is_empty(one.own, kLock)) return -EACCES;
  if (!rules.may_hold_worktree(place.path) || !is_empty(place.parent.number, "")) return -EACCES;
  const long text = nameless(place.parent.number);
  if (text < 0) return -EACCES;
  const Line address("", place.path);
  const Line pointer("gitdir: ", own.directory());
  const NewFile files[] = {{one.own, kAddress, address.c_str()},
                           {one.own, kShared, "../..\n"},
                           {place.parent.number, kPointer, pointer.c_str()}};
  if (long rc = write_all(files); rc < 0) {
    sys::close(static_cast<int>(text));
    return rc;
  }
  one.state = One::State::linked;
  return text;
}

long NewWorktrees::repeat(const char* path) {
  for (One& one : all_) {
    if (one.state != One::State::linked || std::strcmp(path, Inside(one.own, kShared).path()) != 0) continue;
    const long text = nameless(one.own);
    forget(one);
    return text < 0 ? -EACCES : text;
  }
  return -EACCES;
}

}  // namespace oncelatch::sandbox
