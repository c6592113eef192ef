#include "sandbox/control_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/beneath.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::string_view kPrefix = "oncelatch-";
constexpr std::size_t kMostText = std::size_t{1} << 16;
constexpr std::size_t kMostProcesses = std::size_t{1} << 20;  // bytes of cgroup.procs
constexpr int kRemoveTries = 200;
constexpr int kRemovePause = 10;  // milliseconds

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::string text_of(const std::string& path, std::size_t most = kMostText) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  Result<std::string> text = read_whole(file.get(), path, most);
  return text ? std::move(*text) : std::string();
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// In clock ticks since the machine's start; together with the number it names one process for good. 0: no such process.
std::uint64_t start_of(const std::string& pid) {
  std::string text = text_of("/proc/" + pid + "/stat");
  std::size_t at = text.rfind(')');  // the name may hold anything
  constexpr int kFieldsBetween = 20;
  for (int i = 0; i < kFieldsBetween && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : number_of(std::string_view(text).substr(at + 1)).value_or(0);
}

// Numbers of processes mean nothing outside their namespace.
std::string pid_namespace() {
  std::array<char, 64> link{};
  ssize_t size = ::readlink("/proc/self/ns/pid", link.data(), link.size() - 1);
  std::string digits;
  for (ssize_t i = 0; i < size; ++i)
    if (link[static_cast<std::size_t>(i)] >= '0' && link[static_cast<std::size_t>(i)] <= '9')
      digits += link[static_cast<std::size_t>(i)];
  return digits.empty() ? "0" : digits;
}

std::string maker_prefix() {
  return std::string(kPrefix) + pid_namespace() + "-";
}

std::string next_name() {
  static int made = 0;
  std::string own = std::to_string(::getpid());
  return maker_prefix() + own + "-" + std::to_string(start_of(own)) + "-" + std::to_string(++made);
}

// "oncelatch-NAMESPACE-PID-START-N" of a process that is no more.
bool is_stale(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  std::size_t first = name.find('-');
  std::size_t second = name.find('-', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return false;
  std::optional<std::uint64_t> pid = number_of(name.substr(0, first));
  std::optional<std::uint64_t> start = number_of(name.substr(first + 1, second - first - 1));
  return pid && start && *start != 0 && start_of(std::to_string(*pid)) != *start;
}

std::vector<pid_t> members(const std::string& path) {
  std::string text = text_of(path + "/cgroup.procs", kMostProcesses);
  std::vector<pid_t> found;
  for (std::size_t at = 0; at < text.size();) {
    std::optional<std::uint64_t> pid = number_of(std::string_view(text).substr(at));
    if (pid && *pid > 0) found.push_back(static_cast<pid_t>(*pid));
    std::size_t end = text.find('\n', at);
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return found;
}

// A number may have gone to another process since it was listed: held by descriptor, it must be listed still.
void kill_members(const std::string& path) {
  std::vector<std::pair<pid_t, Fd>> held;
  for (pid_t pid : members(path)) {
    Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
    if (process && pid != ::getpid()) held.emplace_back(pid, std::move(process));
  }
  std::vector<pid_t> still = members(path);
  for (const auto& [pid, process] : held) {
    bool listed = std::find(still.begin(), still.end(), pid) != still.end();
    if (listed) ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0U);
  }
}

Status write_text(const std::string& path, const std::string& value) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return fail_errno("sandbox", path, errno);
  return write_all(file.get(), value, path);
}

void kill_group(const std::string& path) {
  if (!write_text(path + "/cgroup.kill", "1")) kill_members(path);
}

}  // namespace

void sweep_groups(const std::string& parent) {
  std::unique_ptr<DIR, CloseDirectory> directory(::opendir(parent.c_str()));
  if (!directory) return;
  const std::string prefix = maker_prefix();
  while (const dirent* entry = ::readdir(directory.get())) {
    if (!is_stale(entry->d_name, prefix)) continue;
    std::string path = parent + "/" + entry->d_name;
    if (::rmdir(path.c_str()) != 0 && errno == EBUSY) kill_group(path);  // removed by the sweep after this one
  }
}

Result<ControlGroup> ControlGroup::make(const std::string& parent) {
  sweep_groups(parent);
  ControlGroup group;
  std::string path = parent + "/" + next_name();
  if (::mkdir(path.c_str(), 0755) != 0) return fail_errno("sandbox", path, errno, {}, "mkdir");
  group.path_ = path;
  group.owner_ = ::getpid();
  group.processes_.reset(::open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!group.processes_) return fail_errno("sandbox", path + "/cgroup.procs", errno);
  return group;
}

ControlGroup::ControlGroup(ControlGroup&& other) noexcept
    : path_(std::exchange(other.path_, {})), processes_(std::move(other.processes_)), owner_(other.owner_) {}

ControlGroup& ControlGroup::operator=(ControlGroup&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(processes_, other.processes_);
  std::swap(owner_, other.owner_);
  return *this;
}

ControlGroup::~ControlGroup() {
  if (owner_ == ::getpid()) (void)remove();
}

Status ControlGroup::set(const std::string& file, const std::string& value) const {
  return write_text(path_ + "/" + file, value);
}

Status ControlGroup::set_limit(const std::string& file, std::uint64_t value) const {
  TRY(set(file, std::to_string(value)));
  std::optional<std::uint64_t> now = number_of(text_of(path_ + "/" + file));
  if (!now || *now > value) return fail("sandbox", path_ + "/" + file, "the kernel did not take the limit");
  return {};
}

std::uint64_t ControlGroup::counter(const std::string& file, const std::string& key) const {
  std::string text = "\n" + text_of(path_ + "/" + file);
  std::string line = "\n" + key + " ";
  std::size_t at = text.find(line);
  return at == std::string::npos ? 0 : number_of(std::string_view(text).substr(at + line.size())).value_or(0);
}

void ControlGroup::kill() const {
  if (!path_.empty()) kill_group(path_);
}

bool ControlGroup::remove() {
  processes_.reset();
  for (int i = 0; i < kRemoveTries && !path_.empty(); ++i) {
    bool gone = ::rmdir(path_.c_str()) == 0 || errno == ENOENT;
    if (gone) path_.clear();
    if (gone) break;
    if (errno == EACCES || errno == EPERM) break;  // a maker that has narrowed itself: the next sweep removes it
    kill_group(path_);
    ::poll(nullptr, 0, kRemovePause);
  }
  return path_.empty();
}

}  // namespace oncelatch::sandbox
