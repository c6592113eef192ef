#include "tests/probes/operation_effects.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace oncelatch::probes {

namespace {

constexpr int kDeepest = 40;

const char* type_name(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "regular";
    case S_IFDIR:
      return "directory";
    case S_IFLNK:
      return "link";
    case S_IFIFO:
      return "fifo";
    case S_IFSOCK:
      return "socket";
    case S_IFCHR:
      return "device";
    default:
      return "other";
  }
}

// O_NOFOLLOW isn't among them: an open on behalf goes by the object, and the flag means nothing once that is found.
std::string flag_names(int flags) {
  constexpr const char* kModes[] = {"RDONLY", "WRONLY", "RDWR", "NEITHER"};
  std::string text = kModes[flags & O_ACCMODE];
  if ((flags & O_APPEND) != 0) text += "|APPEND";
  if ((flags & O_NONBLOCK) != 0) text += "|NONBLOCK";
  if ((flags & O_NOATIME) != 0) text += "|NOATIME";
  if ((flags & O_PATH) != 0) text += "|PATH";
  if ((flags & O_DIRECTORY) != 0) text += "|DIRECTORY";
  if ((flags & O_SYNC) != 0) text += "|SYNC";
  return text;
}

std::string content_hash(int fd) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  std::vector<unsigned char> bytes(65536);
  for (ssize_t got = 0; (got = ::read(fd, bytes.data(), bytes.size())) > 0;)
    for (ssize_t i = 0; i < got; ++i) hash = (hash ^ bytes[static_cast<std::size_t>(i)]) * 0x100000001b3ULL;
  return std::to_string(hash % 1000000007);
}

// A file without a name is told by its number.
std::string own_name(int fd, const Paths& paths) {
  std::vector<char> text(8192);
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  if (size < 0) return error_name(errno);
  std::string name(text.data(), static_cast<std::size_t>(size));
  if (const std::size_t number = name.find("/#"); number != std::string::npos) name.resize(number + 2);
  if (name[0] != '/') name.resize(name.find(':'));  // "pipe:[1234]"
  return paths.shown(name);
}

std::string tried(int fd, const struct stat& found, int flags, Dice& dice) {
  constexpr off_t kSizes[] = {0, 1, 2, 7, 100, 5000};
  const off_t size = dice.of(kSizes);
  const bool pipe = S_ISFIFO(found.st_mode);
  if ((flags & O_PATH) != 0 || (pipe && (flags & O_NONBLOCK) == 0)) return "";
  if (S_ISCHR(found.st_mode) && (major(found.st_rdev) != 1 || minor(found.st_rdev) > 7)) return "";
  char bytes[4] = {};
  std::string text = " write " + outcome(::write(fd, "abc", 3));
  text += " read " + outcome(::read(fd, bytes, sizeof bytes));
  if (S_ISREG(found.st_mode)) text += " cut " + outcome(::ftruncate(fd, size));
  if (S_ISREG(found.st_mode)) text += " at " + outcome(::lseek(fd, 0, SEEK_CUR));
  return text;
}

std::string entry_line(int directory, const std::string& name, const struct stat& found, const Paths& paths) {
  std::string line = std::string(type_name(found.st_mode)) + " " + octal(found.st_mode & 07777);
  if (!S_ISDIR(found.st_mode)) line += " names " + std::to_string(found.st_nlink);
  if (S_ISREG(found.st_mode)) line += " size " + std::to_string(found.st_size);
  if (S_ISLNK(found.st_mode)) {
    std::vector<char> text(8192);
    const ssize_t size = ::readlinkat(directory, name.c_str(), text.data(), text.size());
    line += " to " + (size < 0 ? error_name(errno) : paths.shown({text.data(), static_cast<std::size_t>(size)}));
  }
  if (S_ISREG(found.st_mode)) {
    ::fchmodat(directory, name.c_str(), (found.st_mode & 01777) | 0600, 0);
    const int fd = ::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    line += " holds " + (fd < 0 ? error_name(errno) : content_hash(fd));
    if (fd >= 0) ::close(fd);
  }
  return line;
}

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  DIR* stream = ::fdopendir(directory);
  if (stream == nullptr) return names;
  while (const dirent* entry = ::readdir(stream))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  ::rewinddir(stream);
  return names;  // the stream stays open: the process ends soon
}

void list(int directory, const std::string& name, const std::string& shown, int root, int depth, const Paths& paths,
          std::string& lines) {
  struct stat found {};
  struct stat of_root {};
  ::fstat(root, &of_root);
  if (::fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    lines += shown + " " + error_name(errno) + "\n";
    return;
  }
  lines += shown + " " + entry_line(directory, name, found, paths) + "\n";
  if (!S_ISDIR(found.st_mode) || depth > kDeepest) return;
  if (depth > 0 && found.st_ino == of_root.st_ino && found.st_dev == of_root.st_dev) return;
  (void)::fchmodat(directory, name.c_str(), 0700, 0);
  const int fd = ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    lines += shown + "/ " + error_name(errno) + "\n";
    return;
  }
  for (const std::string& inner : names_in(fd)) {
    const bool lab = inner.compare(0, 14, "oncelatch-lab-") == 0;
    const std::string of_inner = lab ? "LAB" : paths.shown(inner);
    list(fd, inner, shown + "/" + of_inner, root, depth + 1, paths, lines);
  }
  ::close(fd);
}

}  // namespace

std::string error_name(int number) {
  const char* name = ::strerrorname_np(number);
  return name == nullptr ? std::to_string(number) : name;
}

std::string outcome(long result) {
  return result < 0 ? error_name(errno) : std::to_string(result);
}

std::string octal(unsigned mode) {
  std::string text;
  for (; mode != 0; mode /= 8) text.insert(text.begin(), static_cast<char>('0' + mode % 8));
  return text.empty() ? "0" : text;
}

std::string open_flags(int flags) {
  constexpr struct {
    int bits;
    const char* name;
  } kNames[] = {{O_CREAT, "CREAT"},       {O_EXCL, "EXCL"},
                {O_TRUNC, "TRUNC"},       {O_APPEND, "APPEND"},
                {O_NOFOLLOW, "NOFOLLOW"}, {O_DIRECTORY, "DIRECTORY"},
                {O_PATH, "PATH"},         {O_TMPFILE & ~O_DIRECTORY, "TMPFILE"},
                {O_NONBLOCK, "NONBLOCK"}, {O_CLOEXEC, "CLOEXEC"},
                {O_NOATIME, "NOATIME"},   {O_SYNC, "SYNC"},
                {1 << 30, "UNKNOWN"}};
  constexpr const char* kModes[] = {"RDONLY", "WRONLY", "RDWR", "ACCMODE"};
  std::string result = kModes[flags & O_ACCMODE];
  for (const auto& row : kNames)
    if ((flags & row.bits) == row.bits) result += std::string("|") + row.name;
  return result;
}

std::string described(int fd, const Paths& paths, Dice& dice) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return error_name(errno);
  const int flags = ::fcntl(fd, F_GETFL);
  std::string text = std::string(type_name(found.st_mode)) + " " + octal(found.st_mode & 07777);
  if (!S_ISDIR(found.st_mode)) text += " names " + std::to_string(found.st_nlink);
  if (S_ISREG(found.st_mode)) text += " size " + std::to_string(found.st_size);
  text += " flags " + flag_names(flags) + ((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 ? "|CLOEXEC" : "");
  text += " at " + outcome(::lseek(fd, 0, SEEK_CUR)) + " is " + own_name(fd, paths);
  return text + tried(fd, found, flags, dice);
}

// Chance works there, and so does list(): never where others have something.
bool is_empty(const char* directory) {
  DIR* stream = ::opendir(directory);
  int entries = 0;
  while (stream != nullptr && ::readdir(stream) != nullptr) ++entries;
  if (stream != nullptr) ::closedir(stream);
  return entries == 2;
}

std::string listed(int directory, const std::string& name, int root, const Paths& paths) {
  std::string lines;
  list(directory, name, paths.shown(name), root, 0, paths, lines);
  return lines;
}

}  // namespace oncelatch::probes
