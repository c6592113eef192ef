#include "sandbox/host_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>

#include "base/fd.h"
#include "sandbox/etc_table.h"

namespace oncelatch::sandbox {

namespace {

// Empty where it doesn't exist.
std::string real_path(const char* path) {
  std::array<char, PATH_MAX> name;
  return ::realpath(path, name.data()) != nullptr ? name.data() : "";
}

// RLIMIT_NPROC counts every task of the user, so what runs already is added: all tasks of the machine, from the fourth
// word of /proc/loadavg ("2/345").
std::uint64_t tasks_now() {
  Fd file(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text;
  ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  std::string words(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  std::size_t slash = words.find('/');
  std::uint64_t count = 0;
  if (slash != std::string::npos) (void)std::from_chars(words.data() + slash + 1, words.data() + words.size(), count);
  return count;
}

}  // namespace

Status HostView::build() {
  if (plan_.network == Network::loopback)
    return fail_errno("sandbox", "network loopback", EOPNOTSUPP,
                      "without a network namespace the loopback is the host's: use network none, or ports");
  add_system();
  TRY(add_home());
  for (const Bind& bind : plan_.binds) TRY(add_bind(bind));
  return add_workspace();
}

void HostView::allow(std::int32_t source, const std::string& path, bool directory, Rights rights) {
  entries_.push_back({.kind = EntryKind::bind,
                      .rights = rights,
                      .flags = directory ? kIsDirectory : std::uint8_t{0},
                      .mode = 0,
                      .source = source,
                      .target = path,
                      .text = source < 0 ? path : std::string()});
}

void HostView::add_system() {
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"})
    if (real_path(path) == path) allow(-1, path, true, Rights::read_execute);
  for (const std::string& path : etc_paths(plan_.network == Network::ports)) {
    std::string real = real_path(path.c_str());
    struct stat found {};
    if (real.empty() || ::stat(real.c_str(), &found) != 0) continue;
    if (S_ISDIR(found.st_mode) || S_ISREG(found.st_mode)) allow(-1, real, S_ISDIR(found.st_mode), Rights::read);
  }
}

Status HostView::add_home() {
  if (plan_.home.empty()) return {};
  Source home = TRY(sources.open_path(plan_.home));
  if (!home.directory) return fail_errno("sandbox", plan_.home, ENOTDIR);
  visible_.push_back(home.real_path);
  moved_[plan_.home_inside] = home.real_path;
  allow(home.index, home.real_path, true, Rights::read_write_execute);
  return {};
}

Status HostView::add_bind(const Bind& bind) {
  if (bind.where_guarded) return {};
  Result<Source> source = sources.open_path(bind.source);
  if (!source && bind.optional && source.error().errno_value == ENOENT) return {};
  Source opened = TRY(std::move(source));
  TRY(check_still_there(bind, opened));
  visible_.push_back(opened.real_path);
  moved_[bind.target] = opened.real_path;
  allow(opened.index, opened.real_path, opened.directory, rights_of(bind));
  return {};
}

Status HostView::add_workspace() {
  Source workspace = TRY(sources.open_path(plan_.workspace));
  std::vector<std::string> homes = {plan_.home, account_.home};
  if (::getuid() != plan_.uid) homes.push_back(account_of(::getuid()).home);
  TRY(check_workspace(plan_, workspace, homes));
  visible_.push_back(workspace.real_path);
  moved_[plan_.workspace] = workspace.real_path;  // also where it lies below a moved /tmp
  allow(workspace.index, workspace.real_path, true, Rights::read_write_execute);
  return {};
}

Result<std::vector<ViewEntry>> HostView::entries() const {
  for (const ViewEntry& entry : entries_)
    if (!clean(entry.target)) return fail_errno("sandbox", entry.target, EINVAL, "the whole host can't be shown");
  if (entries_.size() > kMostEntries) return fail_errno("sandbox", "entries", E2BIG, "name fewer mounts");
  return entries_;
}

// The longest target that holds it decides.
std::string HostView::at_host(const std::string& inside) const {
  for (std::string path = inside; !path.empty(); path = parent_path(path))
    if (auto found = moved_.find(path); found != moved_.end()) return found->second + inside.substr(path.size());
  return inside;
}

SandboxPlan HostView::plan() const {
  SandboxPlan moved = plan_;
  if (!moved.working_directory.empty()) moved.working_directory = at_host(moved.working_directory);
  if (!moved.program_inside.empty()) moved.program_inside = at_host(moved.program_inside);
  for (std::string& variable : moved.environment) {
    std::size_t start = variable.find('=') + 1;
    std::string result = variable.substr(0, start);
    while (start <= variable.size()) {  // element by element, as in PATH
      std::size_t end = std::min(variable.find(':', start), variable.size());
      std::string element = variable.substr(start, end - start);
      result += clean(element) ? at_host(element) : element;
      if (end < variable.size()) result += ':';
      start = end + 1;
    }
    variable = result;
  }
  // The host's file is there and can't be read, which git takes for a fault.
  constexpr const char* kNoSystem = "GIT_CONFIG_NOSYSTEM=";
  auto set = [&](const std::string& variable) { return variable.starts_with(kNoSystem); };
  if (std::none_of(moved.environment.begin(), moved.environment.end(), set))
    moved.environment.push_back(std::string(kNoSystem) + "1");
  moved.shown_uid = moved.uid;
  moved.shown_gid = moved.gid;
  moved.idmapped = false;
  return moved;
}

void HostView::adjust(PlanFields& fields) const {
  fields.processes += tasks_now();
}

}  // namespace oncelatch::sandbox
