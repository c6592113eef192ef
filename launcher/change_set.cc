#include "launcher/change_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <ctime>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/session_directory.h"
#include "launcher/state_directory.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "changes";
constexpr const char* kLayers = "layers";
constexpr const char* kWork = "work";
constexpr const char* kPromoted = "promoted";
constexpr std::size_t kMostPromoted = std::size_t{256} << 20;
constexpr std::size_t kMostSets = 10'000;

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

std::int64_t now_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// File times are of the exact clock or of the one that moves in ticks and lags behind it: once that has passed this
// moment, what was changed before has an older time, and what is changed from now on hasn't.
Result<std::int64_t> next_tick() {
  constexpr int kMostWaits = 5000;  // a second: it was set back
  const std::int64_t before = now_of(CLOCK_REALTIME);
  for (int waits = 0; waits < kMostWaits; ++waits) {
    if (const std::int64_t now = now_of(CLOCK_REALTIME_COARSE); now > before) return now;
    const timespec moment{0, 200'000};
    ::nanosleep(&moment, nullptr);
  }
  return fail(kStage, "the clock", "doesn't move on", "try again");
}

Status take_lock(int lock, const std::string& id) {
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return {};
  return fail_errno(kStage, shown(id), EBUSY, "wait until the run has ended", "a run or another command works on it");
}

// Not synced, which would cost more than the whole start: a set that isn't whole holds nothing yet.
Status write_new(int directory, const char* name, const std::string& text) {
  Fd file = TRY(open_beneath(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return write_all(file.get(), text, name);
}

// "STARTED DEVICE INODE"
bool read_numbers(const std::string& text, std::array<std::uint64_t, 3>& numbers) {
  const char* here = text.data();
  const char* end = here + text.size();
  for (std::uint64_t& number : numbers) {
    while (here != end && *here == ' ') ++here;
    auto [next, error] = std::from_chars(here, end, number);
    if (error != std::errc()) return false;
    here = next;
  }
  return here == end;
}

}  // namespace

Result<ChangeSets> ChangeSets::open(const std::vector<std::string>& environment) {
  ChangeSets sets;
  StateDirectory state = TRY(open_state_directory(environment, "changes"));
  sets.path_ = std::move(state.path);
  sets.directory_ = std::move(state.directory);
  return sets;
}

Result<ChangeSet> ChangeSets::create(const std::string& workspace) const {
  ChangeSet set;
  set.id_ = TRY(new_session_id());
  set.path_ = path_ + "/" + set.id_;
  set.parent_ = Fd(::fcntl(directory_.get(), F_DUPFD_CLOEXEC, 3));
  set.directory_ = TRY(make_directory(directory_.get(), set.id_, 0700));
  Status filled = set.fill(workspace);
  if (!filled) (void)set.remove();
  TRY(std::move(filled));
  return set;
}

Status ChangeSet::fill(const std::string& workspace) {
  workspace_ = workspace;
  lock_ = TRY(open_beneath(directory_.get(), "lock", O_RDWR | O_CREAT | O_EXCL, 0600));
  TRY(take_lock(lock_.get(), id_));
  struct stat found {};
  if (::lstat(workspace.c_str(), &found) != 0) return fail_errno(kStage, shown(workspace), errno);
  device_ = found.st_dev;
  inode_ = found.st_ino;
  Fd layers = TRY(make_directory(directory_.get(), kLayers, 0700));
  // The mode of what is seen at the workspace's name.
  (void)TRY(make_directory(layers.get(), "upper", found.st_mode & 0777));
  (void)TRY(make_directory(layers.get(), kWork, 0700));
  TRY(write_new(directory_.get(), "workspace", workspace));
  started_ = TRY(next_tick());
  const std::string numbers = std::to_string(started_) + " " + std::to_string(device_) + " " + std::to_string(inode_);
  return write_new(directory_.get(), "started", numbers);
}

Status ChangeSet::read() {
  workspace_ = TRY(read_file(directory_.get(), "workspace", PATH_MAX));
  const std::string text = TRY(read_file(directory_.get(), "started", 100));
  std::array<std::uint64_t, 3> numbers{};
  if (workspace_.empty() || workspace_[0] != '/' || !read_numbers(text, numbers))
    return fail(kStage, shown(path_), "isn't whole");
  started_ = static_cast<std::int64_t>(numbers[0]);
  device_ = numbers[1];
  inode_ = numbers[2];
  return {};
}

Status ChangeSet::give_layers(uid_t uid, gid_t gid) const {
  if (::geteuid() != 0) return {};
  Fd layers = TRY(open_beneath(directory_.get(), kLayers, O_RDONLY | O_DIRECTORY));
  for (const char* name : {"upper", kWork, ""})
    if (::fchownat(layers.get(), name, uid, gid, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0)
      return fail_errno(kStage, shown(path_ + "/layers/" + name), errno, {}, "chown");
  return {};
}

Result<Fd> ChangeSet::open_upper() const {
  const std::string upper = std::string(kLayers) + "/upper";
  Result<Fd> opened = open_beneath(directory_.get(), upper, O_RDONLY | O_DIRECTORY);
  if (opened || opened.error().errno_value != EACCES) return opened;
  // Its mode is the agent's, too, and is never promoted.
  Fd closed = TRY(open_beneath(directory_.get(), upper, O_PATH | O_DIRECTORY));
  if (::chmod(("/proc/self/fd/" + std::to_string(closed.get())).c_str(), S_IRWXU) != 0) return opened;
  return open_beneath(directory_.get(), upper, O_RDONLY | O_DIRECTORY);
}

Result<Fd> ChangeSet::open_workspace() const {
  if (workspace_.empty())
    return fail(kStage, shown(id_), "isn't whole: the run that made it was ended at its start",
                "oncelatch changes drop " + shown(id_));
  Fd directory(::open(workspace_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail_errno(kStage, shown(workspace_), errno, "its changes stay: oncelatch changes diff");
  struct stat found {};
  if (::fstat(directory.get(), &found) != 0 || found.st_dev != device_ || found.st_ino != inode_)
    return fail(kStage, shown(workspace_), "isn't the directory any more that the run worked on",
                "put it back under its name; the changes stay");
  return directory;
}

std::set<std::string> ChangeSet::promoted() const {
  std::set<std::string> keys;
  const Result<std::string> text = read_file(directory_.get(), kPromoted, kMostPromoted);
  if (!text) return keys;
  for (std::size_t start = 0; start < text->size();) {
    const std::size_t end = std::min(text->find('\0', start), text->size());
    keys.insert(text->substr(start, end - start));
    start = end + 1;
  }
  return keys;
}

Status ChangeSet::add_promoted(const std::vector<std::string>& keys) const {
  Fd file = TRY(open_beneath(directory_.get(), kPromoted, O_WRONLY | O_CREAT | O_APPEND, 0600));
  std::string text;
  for (const std::string& key : keys) text += key + '\0';
  return write_all(file.get(), text, kPromoted);
}

bool ChangeSet::is_empty() const {
  Result<Fd> upper = open_upper();
  DIR* stream = upper ? ::fdopendir(upper->get()) : nullptr;
  if (stream == nullptr) return false;
  (void)upper->release();
  bool empty = true;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    empty = empty && (name == "." || name == "..");
  }
  ::closedir(stream);
  return empty;
}

Status ChangeSet::remove() {
  directory_.reset();
  return remove_tree(parent_.get(), id_);
}

Result<ChangeSet> ChangeSets::find(const std::string& id, bool lock) const {
  ChangeSet set;
  set.id_ = id;
  set.path_ = path_ + "/" + id;
  set.parent_ = Fd(::fcntl(directory_.get(), F_DUPFD_CLOEXEC, 3));
  Result<Fd> directory = is_session_name(id) ? open_beneath(directory_.get(), id, O_RDONLY | O_DIRECTORY)
                                             : Result<Fd>(fail_errno(kStage, shown(id), ENOENT));
  if (!directory) return fail_errno(kStage, shown(id), directory.error().errno_value, "oncelatch changes list");
  set.directory_ = std::move(*directory);
  Result<Fd> held = open_beneath(set.directory_.get(), "lock", O_RDWR);
  if (held) set.lock_ = std::move(*held);
  if (lock && set.lock_) TRY(take_lock(set.lock_.get(), id));
  if (!set.read()) set.workspace_.clear();  // the run that made it was ended at its start
  return set;
}

std::vector<std::string> ChangeSets::ids() const {
  std::vector<std::string> found;
  Fd copy(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* stream = copy ? ::fdopendir(copy.get()) : nullptr;
  if (stream == nullptr) return found;
  (void)copy.release();
  while (const dirent* entry = ::readdir(stream))
    if (is_session_name(entry->d_name) && found.size() < kMostSets) found.emplace_back(entry->d_name);
  ::closedir(stream);
  std::sort(found.begin(), found.end());
  return found;
}

bool ChangeSets::is_busy(const std::string& id) const {
  Result<Fd> lock = open_beneath(directory_.get(), id + "/lock", O_RDWR);
  return lock && ::flock(lock->get(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace oncelatch::launcher
