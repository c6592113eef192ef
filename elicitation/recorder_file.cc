#include "elicitation/recorder_file.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace oncelatch::elicitation {

namespace {

constexpr std::size_t tail_bytes = 64;

Failure refuse(const std::string& path, const std::string& what) {
  return fail("recorder", path, what, "answer prompts in the terminal; start a new session to mirror them again");
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// All of `size` bytes at `at`, as far as there are.
Result<std::string> read_at(int fd, std::uint64_t at, std::size_t size, const std::string& path) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::pread(fd, bytes.data() + have, size - have, static_cast<off_t>(at + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("recorder", path, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

Result<RecorderFile> RecorderFile::start(Fd file, std::string path) {
  RecorderFile recorder(std::move(file), std::move(path));
  if (::fstat(recorder.file_.get(), &recorder.identity_) != 0) return fail_errno("recorder", recorder.path_, errno);
  const uid_t own = ::geteuid();
  if (own != 0 && recorder.identity_.st_uid != own) return refuse(recorder.path_, "it belongs to another user");
  TRY(recorder.watch());
  recorder.offset_ = TRY(recorder.check());
  const std::size_t tail = static_cast<std::size_t>(std::min<std::uint64_t>(recorder.offset_, tail_bytes));
  recorder.tail_ = TRY(read_at(recorder.file_.get(), recorder.offset_ - tail, tail, recorder.path_));
  // A line that began before us is history even when it ends later.
  recorder.skipping_ = !recorder.tail_.empty() && recorder.tail_.back() != '\n';
  return recorder;
}

Status RecorderFile::watch() {
  watch_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch_) return fail_errno("recorder", path_, errno, "raise fs.inotify.max_user_instances");
  // By descriptor, so that it is this very file.
  const std::string link = "/proc/self/fd/" + std::to_string(file_.get());
  const int events = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;
  if (::inotify_add_watch(watch_.get(), link.c_str(), events) < 0) {
    return fail_errno("recorder", path_, errno, "raise fs.inotify.max_user_watches");
  }
  return {};
}

Result<std::uint64_t> RecorderFile::check() const {
  struct stat now {};
  struct stat named {};
  if (::fstat(file_.get(), &now) != 0) return fail_errno("recorder", path_, errno);
  if (::lstat(path_.c_str(), &named) != 0) return refuse(path_, "it was removed");
  if (!S_ISREG(now.st_mode)) return refuse(path_, "it is no plain file");
  if (!same_file(now, named)) return refuse(path_, "it was replaced by another file");
  if (now.st_nlink != 1) return refuse(path_, "it has more than one name");
  if (now.st_uid != identity_.st_uid) return refuse(path_, "its owner changed");
  const auto size = static_cast<std::uint64_t>(now.st_size);
  if (size < offset_) return refuse(path_, "it became shorter");
  return size;
}

Status RecorderFile::check_tail() const {
  const std::string now = TRY(read_at(file_.get(), offset_ - tail_.size(), tail_.size(), path_));
  if (now != tail_) return refuse(path_, "it was written anew");
  return {};
}

void RecorderFile::drain_watch() const {
  char events[4096];
  while (::read(watch_.get(), events, sizeof events) > 0) {
  }
}

void RecorderFile::take(std::string_view bytes, std::vector<std::string>* lines) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (!skipping_ && partial_.size() + part.size() > longest_line) {
      skipping_ = count_skip_ = true;
      partial_ = std::string();
    }
    if (!skipping_) partial_ += part;
    if (end == std::string_view::npos) return;
    if (!skipping_) lines->push_back(std::move(partial_));
    if (count_skip_) ++skipped_;
    skipping_ = count_skip_ = false;
    partial_.clear();
  }
}

Result<RecorderRound> RecorderFile::read_round() {
  drain_watch();
  RecorderRound round;
  const std::uint64_t size = TRY(check());
  TRY(check_tail());
  if (size == offset_) return round;
  const std::string bytes = TRY(read_at(
      file_.get(), offset_, static_cast<std::size_t>(std::min<std::uint64_t>(size - offset_, round_bytes)), path_));
  offset_ += bytes.size();
  tail_ += bytes;
  if (tail_.size() > tail_bytes) tail_.erase(0, tail_.size() - tail_bytes);
  take(bytes, &round.lines);
  // A shrink while reading is noticed by the next check.
  round.more = size > offset_;
  return round;
}

}  // namespace oncelatch::elicitation
