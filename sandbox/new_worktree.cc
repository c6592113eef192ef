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
constexpr char kSharedText[] = "../..\n";
constexpr unsigned kMakeNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
constexpr unsigned kNameless = 020000000 | O_DIRECTORY | O_WRONLY | O_EXCL | O_CLOEXEC;  // O_TMPFILE

// For git to write into; nobody can give it a name.
long nameless(int directory) {
  constexpr unsigned kPrivate = 0600;
  return sys::call(__NR_openat, directory, ".", kNameless, kPrivate);
}

long write_new(int directory, const char* name, unsigned mode, const char* text, std::size_t size) {
  Descriptor file;
  if (long rc = file.keep(sys::call(__NR_openat, directory, name, kMakeNew, mode)); rc < 0) return rc;
  const long written = sys::call(__NR_write, file.number, text, size);
  if (written == static_cast<long>(size)) return 0;
  (void)sys::call(__NR_unlinkat, directory, name, 0);
  return written < 0 ? written : -EIO;
}

bool is_empty(int directory) {
  Descriptor opened;
  if (opened.keep(sys::call(__NR_openat, directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) return false;
  DirectoryNames names(opened.number);
  return names.next() == nullptr && names.error() == 0;
}

}  // namespace

long NewWorktree::begin(const GuardRules& rules, const Place& place, unsigned) {
  if (std::strcmp(place.name, kAddress) != 0 || !rules.is_of_new_worktree(place.path)) return -EACCES;
  const std::size_t size = std::strlen(place.path) - std::strlen(kAddress) - 1;
  if (size >= sizeof path_) return -EACCES;
  Descriptor own;
  long rc = own.keep(sys::call(__NR_openat, place.parent.number, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const long text = rc < 0 ? rc : nameless(place.parent.number);
  if (text < 0) return -EACCES;  // a file system without such files
  Descriptor kept;
  rc = kept.keep(sys::call(__NR_openat, AT_FDCWD, ObjectPath(static_cast<int>(text)).c_str(), O_RDONLY | O_CLOEXEC));
  if (rc < 0) {
    sys::close(static_cast<int>(text));
    return -EACCES;
  }
  forget();
  own_ = own.number;
  text_ = kept.number;
  own.number = kept.number = -1;
  std::memcpy(path_, place.path, size);
  path_[size] = 0;
  return text;
}

void NewWorktree::forget() {
  if (own_ >= 0) sys::close(own_);
  if (text_ >= 0) sys::close(text_);
  own_ = text_ = -1;
  path_[0] = 0;
  linked_ = false;
}

// Exactly the path, and a line's end.
bool NewWorktree::says(const char* pointer) const {
  char text[kMostPathBytes + 1];
  Descriptor file;  // from its beginning
  if (file.keep(sys::call(__NR_openat, AT_FDCWD, ObjectPath(text_).c_str(), O_RDONLY | O_CLOEXEC)) < 0) return false;
  const long got = sys::call(__NR_read, file.number, text, sizeof text);
  const std::size_t size = std::strlen(pointer);
  return got == static_cast<long>(size + 1) && std::memcmp(text, pointer, size) == 0 && text[size] == '\n';
}

long NewWorktree::link(const GuardRules& rules, const Place& place, unsigned mode) {
  if (path_[0] == 0 || linked_ || std::strcmp(place.name, kPointer) != 0 || !says(place.path)) return -EACCES;
  if (!rules.may_hold_worktree(place.path) || !is_empty(place.parent.number)) return -EACCES;
  char now[kMostPathBytes];
  if (name_of(own_, now) < 0 || std::strcmp(now, path_) != 0) return -EACCES;  // it was moved
  const long text = nameless(place.parent.number);
  if (text < 0) return -EACCES;
  if (long rc = make_files(place, mode); rc < 0) {
    sys::close(static_cast<int>(text));
    return rc;
  }
  linked_ = true;
  return text;
}

long NewWorktree::make_files(const Place& place, unsigned mode) const {
  char pointer[2 * kMostPathBytes + 16];
  const std::size_t own = std::strlen(path_);
  std::memcpy(pointer, "gitdir: ", 8);
  std::memcpy(pointer + 8, path_, own);
  pointer[8 + own] = '\n';
  const std::size_t pointer_size = own + 9;
  char address[2 * kMostPathBytes + 1];
  const std::size_t size = std::strlen(place.path);
  std::memcpy(address, place.path, size);
  address[size] = '\n';
  long rc = write_new(own_, kAddress, mode, address, size + 1);
  if (rc < 0) return rc;
  rc = write_new(own_, kShared, mode, kSharedText, sizeof kSharedText - 1);
  if (rc == 0) rc = write_new(place.parent.number, kPointer, mode, pointer, pointer_size);
  if (rc == 0) return 0;
  (void)sys::call(__NR_unlinkat, own_, kAddress, 0);
  (void)sys::call(__NR_unlinkat, own_, kShared, 0);
  return rc;
}

long NewWorktree::repeat(const char* path) {
  const std::size_t size = std::strlen(path_);
  const bool ours = linked_ && std::strncmp(path, path_, size) == 0 && path[size] == '/' &&
                    std::strcmp(path + size + 1, kShared) == 0;
  if (!ours) return -EACCES;
  const long text = nameless(own_);
  forget();
  return text < 0 ? -EACCES : text;
}

}  // namespace oncelatch::sandbox
