#include "launcher/session_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/beneath.h"
#include "base/digits.h"
#include "launcher/exec/environment.h"

namespace oncelatch::launcher {
namespace {

constexpr const char* kStage = "session directory";
constexpr const char* kUnfinished = "new-";  // being made; a dead one is swept like any other

std::string two_digits(int value) {
  return digits(static_cast<std::uint64_t>(value), 10, 2);
}

// The runtime directory given by the environment counts only when it is ours and private.
std::string runtime_base(const std::vector<std::string>& environment) {
  std::string given = value_of(environment, "XDG_RUNTIME_DIR");
  if (given.empty() || given[0] != '/') return {};
  Result<Fd> directory = open_directory(given);
  if (!directory || !check_private_directory(directory->get(), given)) return {};
  return given;
}

Result<Fd> open_or_make(int parent, const std::string& name, const std::string& shown) {
  Result<Fd> made = make_directory(parent, name, 0700);
  if (!made && made.error().errno_value != EEXIST) return Failure(made.error());
  Fd directory = made ? std::move(*made) : TRY(open_beneath(parent, name, O_RDONLY | O_DIRECTORY));
  Status check = check_private_directory(directory.get(), shown);
  if (!check) {
    return fail(kStage, shown, check.error().what,
                "remove it, or set XDG_RUNTIME_DIR to a private directory of yours; nothing was started");
  }
  return directory;
}

}  // namespace

bool is_session_name(const std::string& name) {
  return !name.empty() && name.size() < 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Result<std::string> new_session_id() {
  static constexpr char kLetters[] = "abcdefghijkmnpqrstuvwxyz23456789";
  constexpr unsigned kLetterCount = sizeof kLetters - 1;
  static_assert(256 % kLetterCount == 0, "every letter is as likely");
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::string id = digits(static_cast<std::uint64_t>(parts.tm_year + 1900), 10, 4) + two_digits(parts.tm_mon + 1) +
                   two_digits(parts.tm_mday) + "-" + two_digits(parts.tm_hour) + two_digits(parts.tm_min) +
                   two_digits(parts.tm_sec) + "-";
  unsigned char bytes[4];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
    return fail_errno(kStage, "random name", errno, {}, "getrandom");
  for (unsigned char byte : bytes) id += kLetters[byte % kLetterCount];
  return id;
}

Result<SessionRoot> SessionRoot::open(const std::vector<std::string>& environment) {
  SessionRoot root;
  std::string base = runtime_base(environment);
  std::string name = base.empty() ? "oncelatch-" + std::to_string(::getuid()) : "oncelatch";
  if (base.empty()) base = "/tmp";
  root.path_ = base + "/" + name;
  Fd parent = TRY(open_directory(base));
  root.root_ = TRY(open_or_make(parent.get(), name, root.path_));
  return root;
}

Result<SessionDirectory> SessionRoot::create(const std::string& prefix) {
  SessionDirectory session;
  std::string unfinished;
  session.directory_ = TRY(make_unique_directory(root_.get(), kUnfinished, 0700, &unfinished));
  session.lock_ = TRY(open_beneath(session.directory_.get(), "lock", O_RDWR | O_CREAT | O_EXCL, 0600));
  if (::flock(session.lock_.get(), LOCK_EX | LOCK_NB) != 0) return fail_errno(kStage, path_, errno, {}, "lock");
  for (int attempt = 0; attempt < 16; ++attempt) {
    session.id_ = prefix + TRY(new_session_id());
    if (::syscall(SYS_renameat2, root_.get(), unfinished.c_str(), root_.get(), session.id_.c_str(), RENAME_NOREPLACE) ==
        0) {
      session.path_ = path_ + "/" + session.id_;
      session.root_ = Fd(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
      return session;
    }
    if (errno != EEXIST) break;
  }
  return fail_errno(kStage, path_, errno, {}, "rename");
}

Status SessionDirectory::remove() {
  directory_.reset();
  Status removed = remove_tree(root_.get(), id_);
  lock_.reset();
  return removed;
}

std::vector<std::string> SessionRoot::names() const {
  std::vector<std::string> found;
  int copy = ::openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return found;
  DIR* stream = ::fdopendir(copy);
  if (stream == nullptr) {
    ::close(copy);
    return found;
  }
  while (const dirent* entry = ::readdir(stream)) {
    if (is_session_name(entry->d_name)) found.emplace_back(entry->d_name);
  }
  ::closedir(stream);
  std::sort(found.begin(), found.end());
  return found;
}

bool SessionRoot::is_dead(const std::string& name) const {
  Result<Fd> lock = open_beneath(root_.get(), name + "/lock", O_RDWR);
  if (!lock) {
    // A directory without a lock: its maker died before the lock, or is about to make it.
    struct stat info {};
    if (::fstatat(root_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
    return lock.error().errno_value == ENOENT && std::time(nullptr) - info.st_ctime > 60;
  }
  // Between the making of its lock and the taking of it a new one looks dead: only an old one is.
  struct stat info {};
  bool young =
      name.rfind(kUnfinished, 0) == 0 && ::fstat(lock->get(), &info) == 0 && std::time(nullptr) - info.st_ctime < 60;
  return !young && ::flock(lock->get(), LOCK_EX | LOCK_NB) == 0;
}

std::vector<std::string> SessionRoot::sweep() {
  std::vector<std::string> removed;
  for (const std::string& name : names()) {
    if (is_dead(name) && remove_tree(root_.get(), name)) removed.push_back(name);
  }
  return removed;
}

std::vector<std::string> SessionRoot::living() {
  std::vector<std::string> found;
  for (const std::string& name : names()) {
    if (name.rfind(kUnfinished, 0) != 0 && name.rfind(kCommandPrefix, 0) != 0 && !is_dead(name)) found.push_back(name);
  }
  return found;
}

}  // namespace oncelatch::launcher
