#include "launcher/report_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>

#include "base/beneath.h"
#include "base/json_text.h"
#include "base/untrusted.h"
#include "launcher/errors.h"
#include "launcher/sarif.h"

namespace oncelatch::launcher {

namespace {

constexpr int kPatience = 5000;  // ms

// Number of the descriptor that the path is a name of; -1: none.
int descriptor_named(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.rfind(prefix, 0) != 0) continue;
    int number = -1;
    const char* end = path.data() + path.size();
    auto [rest, error] = std::from_chars(path.data() + prefix.size(), end, number);
    return error == std::errc() && rest == end && number >= 0 ? number : -1;
  }
  return -1;
}

// In pieces that a pipe takes whole once it says it has room.
int write_in_time(int fd, std::string_view text) {
  while (!text.empty()) {
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, kPatience) <= 0) return ETIMEDOUT;
    ssize_t written = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Result<ReportFile> ReportFile::open_if_named(const std::string& path, const std::string& option) {
  if (path.empty()) return ReportFile();
  return open(path, option);
}

Result<ReportFile> ReportFile::open(const std::string& path, const std::string& option) {
  ReportFile file;
  file.option_ = option + " FILE";
  file.shown_ = escape_for_display(path, 400);
  if (int number = descriptor_named(path); number >= 0) {
    file.stream_ = Fd(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!file.stream_) return fail_errno("report", file.shown_, errno, "open it, or name a file with " + file.option_);
    return file;
  }
  const std::size_t slash = path.rfind('/');
  file.name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  TRY(file.open_beneath(slash == std::string::npos ? "." : path.substr(0, slash + 1)));
  return file;
}

bool ReportFile::is_same(const ReportFile& other) const {
  struct stat one {};
  struct stat two {};
  auto look = [](const ReportFile& file, struct stat& into) {
    return file.stream_ ? ::fstat(file.stream_.get(), &into)
                        : ::fstatat(file.directory_.get(), file.name_.c_str(), &into, 0);
  };
  if (look(*this, one) == 0 && look(other, two) == 0) return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
  if (!directory_ || !other.directory_ || name_ != other.name_) return false;
  return ::fstat(directory_.get(), &one) == 0 && ::fstat(other.directory_.get(), &two) == 0 &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

Status ReportFile::check_apart(const ReportFile& other) const {
  if (!*this || !other || !is_same(other)) return {};
  return fail("report", shown_, "is named twice: " + option_ + ", " + other.option_, "name two files");
}

Status ReportFile::open_beneath(const std::string& directory) {
  Result<Fd> opened = open_directory(directory);
  if (!opened)
    return fail_errno("report", shown_, opened.error().errno_value,
                      "name a file in an existing directory with " + option_);
  directory_ = std::move(*opened);
  struct stat found {};
  const bool exists = !name_.empty() && ::fstatat(directory_.get(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
  if (!exists && errno != ENOENT && !name_.empty()) return fail_errno("report", shown_, errno, "name another file");
  if (name_.empty() || (exists && S_ISDIR(found.st_mode)))
    return fail("report", shown_, "is a directory", "name a file with " + option_);
  if (exists && S_ISREG(found.st_mode)) TRY(check_replaceable(found));
  if (!exists || S_ISREG(found.st_mode)) return try_to_create();
  if (!S_ISFIFO(found.st_mode) && !S_ISCHR(found.st_mode))
    return fail("report", shown_, S_ISLNK(found.st_mode) ? "is a symbolic link" : "is no file that can be written to",
                "name the file itself with " + option_);
  stream_ = Fd(::openat(directory_.get(), name_.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  if (!stream_)
    return fail_errno("report", shown_, errno, errno == ENXIO ? "start its reader first" : "name another file", "open");
  directory_.reset();
  return {};
}

// rename(2): in a sticky directory only by the owner of the file or of the directory. (Who may is no matter of mode
// alone, so an attempt of writing wouldn't tell.)
Status ReportFile::check_replaceable(const struct stat& found) const {
  struct stat directory {};
  if (::fstat(directory_.get(), &directory) != 0) return fail_errno("report", shown_, errno, "name another file");
  const uid_t user = ::geteuid();
  if (user == 0 || (directory.st_mode & S_ISVTX) == 0 || found.st_uid == user || directory.st_uid == user) return {};
  return fail_errno("report", shown_, EPERM, "name another file with " + option_,
                    "another user's, in a directory where only its owner may replace it");
}

// A file beside it, as will be made in the end.
Status ReportFile::try_to_create() const {
  const std::string name = ".oncelatch-try-" + std::to_string(::getpid());
  Fd made(::openat(directory_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made)
    return fail_errno("report", shown_, errno, "name a file in a directory that you can write to with " + option_);
  ::unlinkat(directory_.get(), name.c_str(), 0);
  return {};
}

std::string ReportFile::place() const {
  return directory_ ? "/proc/self/fd/" + std::to_string(directory_.get()) : std::string();
}

Status ReportFile::write(std::string_view text) const {
  if (stream_) {
    int error = write_in_time(stream_.get(), text);
    return error == 0
               ? Status()
               : fail_errno("report", shown_, error,
                            error == ENOSPC ? "make room, or name another file" : "keep its reader reading", "write");
  }
  Status written = write_file_atomic(directory_.get(), name_, text, 0600);
  if (written) return {};
  Error error = written.error();
  error.stage = "report";
  error.object = shown_;
  error.try_next = "the command has run; only its report is missing";
  return Failure(std::move(error));
}

namespace {

// The value of the last such option before the command.
std::string last_named(const std::vector<std::string>& arguments, const std::string& option) {
  std::string path;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) path = arguments[i + 1];
    if (arguments[i].starts_with(option + "=")) path = arguments[i].substr(option.size() + 1);
  }
  return path;
}

void write_once(const std::string& path, const std::string& option, std::string_view text) {
  if (path.empty()) return;
  Result<ReportFile> file = ReportFile::open(path, option);
  const Status written = file ? file->write(text) : Failure(file.error());
  if (!written) (void)report_error(written.error());
}

}  // namespace

int refuse_with_report(const std::vector<std::string>& arguments, const Error& error) {
  const int code = report_error(error);
  JsonText json;
  json.open('{').key("exit").open('{').key("code").number(code).key("reason").text(exit_reason_for(error)).close('}');
  json.key("error").text(error.message()).key("command").open('[').close(']').close('}');
  write_once(last_named(arguments, "--report"), "--report", json.take() + "\n");
  write_once(last_named(arguments, "--sarif"), "--sarif", sarif_text(sarif_of_refusal(error, code)));
  return code;
}

}  // namespace oncelatch::launcher
