#include "sandbox/limit_watch.h"

#include <linux/fcntl.h>
#include <linux/time_types.h>

#include <cstring>

#include "sandbox/signals.h"
#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

// Milliseconds.
constexpr long kIdlePause = 1000;
constexpr long kPause = 250;
constexpr long kMemoryPause = 100;
constexpr long kShortPause = 50;    // memory runs short
constexpr long kMostElapsed = 500;  // one look never counts for more, however late it came
constexpr long kLongestAtLimit = 2000;
constexpr long kLongestLent = 2000;
constexpr long kLongestPause = 500;
constexpr long kCostShare = 50;  // a look may take a fiftieth of the time

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

char status_text[8192];
alignas(8) char names[32768];
alignas(8) char task_names[4096];

// Beginning of the file; 0 where it can't be read.
unsigned read_start(int directory, const char* path, char* into, unsigned most) {
  long fd = sys::call(__NR_openat, directory, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  long got = sys::call(__NR_read, fd, into, most - 1);
  sys::close(static_cast<int>(fd));
  if (got <= 0) return 0;
  into[got] = 0;
  return static_cast<unsigned>(got);
}

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

std::uint64_t number_at(const char* text) {
  while (*text == ' ' || *text == '\t') ++text;
  std::uint64_t value = 0;
  for (; is_digit(*text) && value < kUnknown / 16; ++text) value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  return value;
}

// Value of a line of /proc/PID/status; a process can't forge one, since the kernel escapes its name. 0: no such line.
std::uint64_t field(const char* text, const char* name) {
  const char* line = std::strstr(text, name);
  return line == nullptr ? 0 : number_at(line + std::strlen(name));
}

// Anonymous and shared memory of a process: resident or swapped out, or of what it shares with others only its part.
// The second costs a walk through all of it, and can't be had of a process that hides its memory. Page tables are its
// own: a sparse mapping that is only read has little else.
std::uint64_t page_tables(const char* status) {
  return 1024 * field(status, "\nVmPTE:");
}
std::uint64_t resident(const char* status) {
  return page_tables(status) +
         1024 * (field(status, "\nRssAnon:") + field(status, "\nRssShmem:") + field(status, "\nVmSwap:"));
}
std::uint64_t part_of(int proc, const char* name, std::uint64_t otherwise) {
  const std::uint64_t tables = page_tables(status_text);
  SmallText path;
  path.text(name).text("/smaps_rollup");
  if (read_start(proc, path.c_str(), status_text, sizeof status_text) == 0) return otherwise;
  return tables + 1024 * (field(status_text, "\nPss_Anon:") + field(status_text, "\nPss_Shmem:") +
                          field(status_text, "\nSwapPss:"));
}

// Last field of /proc/loadavg: the newest process of this pid namespace.
std::uint64_t newest_process() {
  unsigned size = read_start(AT_FDCWD, "/proc/loadavg", status_text, sizeof status_text);
  while (size > 0 && !is_digit(status_text[size - 1])) --size;
  while (size > 0 && is_digit(status_text[size - 1])) --size;
  return size == 0 ? kUnknown : number_at(status_text + size);
}

// Whether one more can be made, asked in the only way that knows every limit. It ends at once and is reaped as an
// orphan.
bool no_more_can_be_made() {
  long pid = sys::call(__NR_clone, kSigchld, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) sys::exit(0);
  return pid < 0;
}

constexpr int kMonotonic = 1;
constexpr int kOwnTime = 2;  // CLOCK_PROCESS_CPUTIME_ID

long milliseconds_of(int clock) {
  __kernel_timespec now{};
  sys::call(__NR_clock_gettime, clock, &now);
  return static_cast<long>(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

}  // namespace

long milliseconds_now() {
  return milliseconds_of(kMonotonic);
}

// Without namespaces /proc is the host's: nothing there may be counted.
LimitWatch::LimitWatch(const WirePlan& plan) {
  if (has(plan, kPlanLandlockTier)) return;
  memory_ = plan.memory;
  processes_ = plan.processes;
  if (!watches()) return;
  last_ = milliseconds_now();
  next_ = last_ + (memory_ != 0 ? kMemoryPause : kIdlePause);
}

Ending LimitWatch::look() {
  long start = milliseconds_now();
  long elapsed = start - last_ < kMostElapsed ? start - last_ : kMostElapsed;
  last_ = start;
  if (!may_be_many() && memory_ == 0) {
    held_ = 0;
    next_ = start + kIdlePause;
    return Ending::unknown;
  }
  long before = milliseconds_of(kOwnTime);  // not the clock's: a busy machine must not make it look away
  Count now = count(false);
  // What was shared by a fork was counted for each.
  if (memory_ != 0 && now.bytes > memory_) now = count(true);
  tasks_ = now.tasks;
  Ending hit = judge(now, elapsed);
  next_ = milliseconds_now() + pause(now, milliseconds_of(kOwnTime) - before);
  return hit;
}

// Numbers are given in order: as long as few were given since the last count, few were added.
bool LimitWatch::may_be_many() {
  std::uint64_t newest = newest_process();
  made_ = newest == kUnknown || newest < newest_ ? processes_ : newest - newest_;
  newest_ = newest == kUnknown ? 0 : newest;
  tasks_ = tasks_ + made_;  // at most; count() makes it exact
  return processes_ != 0 && tasks_ * 2 >= processes_;
}

namespace {

// Calls `each(name)` for every entry of a directory whose name is a number, as long as it says true. False where the
// directory can't be read.
template <class Each>
bool for_numbers(int directory, char* buffer, unsigned size, Each each) {
  for (;;) {
    long got = sys::call(__NR_getdents64, directory, buffer, size);
    if (got <= 0) return got == 0;
    for (long at = 0; at < got;) {
      constexpr long kSizeOffset = 16;
      constexpr long kNameOffset = 19;
      std::uint16_t length = 0;
      std::memcpy(&length, buffer + at + kSizeOffset, sizeof length);
      const char* name = buffer + at + kNameOffset;
      at += length;
      if (is_digit(*name) && !each(name)) return true;
    }
  }
}

// Whether a thread of the process sleeps without a signal to wake it, as one that called vfork does.
bool has_waiting_thread(int proc, std::uint64_t pid) {
  SmallText path;
  path.number(pid).text("/task");
  long tasks = sys::call(__NR_openat, proc, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return false;
  bool found = false;
  (void)for_numbers(static_cast<int>(tasks), task_names, sizeof task_names, [&](const char* name) {
    SmallText status;
    status.text(name).text("/status");
    if (read_start(static_cast<int>(tasks), status.c_str(), status_text, sizeof status_text) != 0)
      found = std::strstr(status_text, "\nState:\tD") != nullptr;
    return !found;
  });
  sys::close(static_cast<int>(tasks));
  return found;
}

// Between vfork and exec a process has its parent's memory, and both report all of it.
bool is_memory_lent() {
  long opened = sys::call(__NR_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return false;
  const int proc = static_cast<int>(opened);
  bool lent = false;
  (void)for_numbers(proc, names, sizeof names, [&](const char* name) {
    SmallText path;
    path.text(name).text("/status");
    if (read_start(proc, path.c_str(), status_text, sizeof status_text) == 0) return true;
    const std::uint64_t parent = field(status_text, "\nPPid:");
    const std::uint64_t size = field(status_text, "\nVmSize:");
    SmallText above;
    above.number(parent).text("/status");
    if (parent <= 1 || read_start(proc, above.c_str(), status_text, sizeof status_text) == 0) return true;
    lent = size != 0 && field(status_text, "\nVmSize:") == size && has_waiting_thread(proc, parent);
    return !lent;
  });
  sys::close(proc);
  return lent;
}

}  // namespace

LimitWatch::Count LimitWatch::count(bool parts) {
  Count result;
  const long begin = milliseconds_of(kOwnTime);
  long proc = sys::call(__NR_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return result;
  result.complete = for_numbers(static_cast<int>(proc), names, sizeof names, [&](const char* name) {
    SmallText path;
    path.text(name).text("/status");
    if (read_start(static_cast<int>(proc), path.c_str(), status_text, sizeof status_text) == 0) return true;
    result.tasks += field(status_text, "\nThreads:");
    const std::uint64_t bytes = resident(status_text);
    const bool in_time = parts && bytes != 0 && milliseconds_of(kOwnTime) - begin < kLongestPause;
    result.bytes += in_time ? part_of(static_cast<int>(proc), name, bytes) : bytes;
    return true;
  });
  sys::close(static_cast<int>(proc));
  return result;
}

bool LimitWatch::refuses_more() const {
  return processes_ != 0 && no_more_can_be_made();
}

// Sitting below the limit is nobody's fault; being refused is, and so is filling every gap at once.
bool LimitWatch::at_the_limit(std::uint64_t tasks) const {
  if (processes_ == 0 || tasks * 2 < processes_) return false;
  if (tasks >= processes_) return true;
  if (tasks >= processes_ - processes_ / 16 && made_ >= processes_ / 4) return true;
  return no_more_can_be_made();
}

bool LimitWatch::is_over(const Count& now, long elapsed) {
  if (memory_ == 0) return false;
  if (!now.complete) return true;
  const bool over = now.bytes > memory_;
  lent_ = over && is_memory_lent() ? lent_ + elapsed : 0;
  return over && (lent_ == 0 || lent_ > kLongestLent);
}

Ending LimitWatch::judge(const Count& now, long elapsed) {
  if (is_over(now, elapsed)) return Ending::memory;
  held_ = at_the_limit(now.tasks) ? held_ + elapsed : held_ - elapsed;
  if (held_ < 0) held_ = 0;
  return held_ >= kLongestAtLimit ? Ending::processes : Ending::unknown;
}

long LimitWatch::pause(const Count& now, long cost) const {
  long wanted = memory_ == 0 ? kPause : now.bytes > memory_ / 2 ? kShortPause : kMemoryPause;
  long fair = cost * kCostShare < kLongestPause ? cost * kCostShare : kLongestPause;
  return wanted > fair ? wanted : fair;
}

}  // namespace oncelatch::sandbox
