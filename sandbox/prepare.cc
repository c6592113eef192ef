#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <set>

#include "sandbox/enter.h"
#include "sandbox/etc_table.h"
#include "sandbox/plan_writer.h"
#include "sandbox/planted.h"
#include "sandbox/sources.h"
#include "sandbox/view.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::size_t kMostBinds = 256;
constexpr std::size_t kMostString = (128U << 10) - 1;  // kernel: MAX_ARG_STRLEN
constexpr std::size_t kMostStringBytes = 1536U << 10;  // under a quarter of the usual stack

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

bool clean(const std::string& path) {
  return clean_path(path.data(), path.size());
}

Status check_strings(const SandboxPlan& plan) {
  if (plan.argv.empty()) return fail_errno("sandbox", "arguments", EINVAL, "name the program");
  std::size_t total = 0;
  for (const auto* list : {&plan.argv, &plan.environment}) {
    if (list->size() > kMostStrings) return fail_errno("sandbox", "arguments", E2BIG);
    for (const std::string& text : *list) {
      if (has_nul(text)) return fail_errno("sandbox", "arguments", EINVAL, {}, "NUL byte in an argument or variable");
      if (text.size() > kMostString)
        return fail_errno("sandbox", "arguments", E2BIG, "shorten an argument or variable");
      total += text.size() + 1;
    }
  }
  if (total > kMostStringBytes) return fail_errno("sandbox", "arguments", E2BIG, "pass fewer arguments or variables");
  for (const std::string& variable : plan.environment)
    if (variable.find('=') == std::string::npos || variable[0] == '=')
      return fail_errno("sandbox", "environment", EINVAL, "write NAME=value");
  return {};
}

Status check_paths(const SandboxPlan& plan) {
  for (const std::string* path : {&plan.workspace, &plan.home_inside})
    if (!clean(*path)) return fail_errno("sandbox", *path, EINVAL, "give an absolute path without . and ..");
  for (const Bind& bind : plan.binds)
    if (!clean(bind.target))
      return fail_errno("sandbox", bind.target, EINVAL, "give an absolute target without . and ..");
  for (const Cover& cover : plan.covers)
    if (!clean(cover.path) || !lies_within(cover.path, plan.workspace) || cover.path == plan.workspace)
      return fail_errno("sandbox", cover.path, EINVAL, "covers lie inside the workspace");
  if (!plan.program_inside.empty() && !clean(plan.program_inside))
    return fail_errno("sandbox", plan.program_inside, EINVAL, "give an absolute path without . and ..");
  return {};
}

Status check_numbers(const SandboxPlan& plan) {
  if (plan.binds.size() > kMostBinds) return fail_errno("sandbox", "mounts", E2BIG, "at most 256 mounts");
  if (plan.covers.size() > kMostBinds) return fail_errno("sandbox", "covers", E2BIG, "at most 256 covers");
  if (plan.connect_ports.size() > kMostPorts) return fail_errno("sandbox", "ports", E2BIG, "at most 64 ports");
  if (plan.limits.processes < 8 || plan.limits.open_files < 16 || plan.limits.temporary_bytes < 4096)
    return fail_errno("sandbox", "limits", EINVAL, "8 processes, 16 open files and 4096 bytes are the least");
  if (::geteuid() != 0 && (plan.uid != ::geteuid() || plan.gid != ::getegid()))
    return fail_errno("sandbox", "uid", EPERM, "only root can run the sandbox as another user");
  return {};
}

struct Account {
  std::string name = "agent";
  std::string home;
};

Account account_of(uid_t uid) {
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  Account account;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return account;
  account.home = found->pw_dir;
  std::string name = found->pw_name;
  if (!name.empty() && name.find_first_of(":\n\r") == std::string::npos) account.name = name;
  return account;
}

// The workspace becomes writable as a whole, so it must be a project and not what a home or the system lies in.
Status check_workspace(const SandboxPlan& plan, const Source& workspace, const std::vector<std::string>& homes) {
  if (!workspace.directory) return fail_errno("sandbox", plan.workspace, ENOTDIR, "name a directory");
  if (workspace.real_path != plan.workspace)
    return fail("sandbox", plan.workspace, "not its real path", "use " + workspace.real_path);
  std::set<std::string> never = {"/usr",  "/etc", "/var", "/tmp",  "/dev",  "/proc", "/sys", "/run",
                                 "/boot", "/opt", "/srv", "/home", "/root", "/lib",  "/bin", "/sbin"};
  for (const std::string& home : homes)
    if (clean(home)) never.insert(home);
  for (const std::string& path : never)
    if (lies_within(path, plan.workspace))
      return fail_errno("sandbox", plan.workspace, EINVAL, "use a project directory", path + " would become writable");
  return {};
}

bool named_below(const SandboxPlan& plan, const std::string& directory) {
  return lies_within(plan.workspace, directory) || lies_within(plan.home_inside, directory) ||
         std::any_of(plan.binds.begin(), plan.binds.end(),
                     [&](const Bind& bind) { return lies_within(bind.target, directory); });
}

void add_system(View& view, const SandboxPlan& plan) {
  view.bind_path("/usr", "/usr", {.read_only = true, .directory = true}, Rights::read_execute);
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    std::array<char, 4096> target;
    ssize_t size = ::readlink(path, target.data(), target.size());
    if (size > 0) {
      view.link(path, std::string(target.data(), static_cast<std::size_t>(size)));
    } else if (::access(path, F_OK) == 0) {
      view.bind_path(path, path, {.read_only = true, .directory = true}, Rights::read_execute);
    }
  }
  std::uint64_t bytes = plan.limits.temporary_bytes;
  view.temporary("/tmp", bytes, 01777, Rights::read_write_execute);
  if (named_below(plan, "/var/tmp")) {
    view.temporary("/var/tmp", bytes, 01777, Rights::read_write_execute);
  } else {
    view.link("/var/tmp", "/tmp");
  }
}

Rights rights_of(const Bind& bind) {
  if (bind.access == Access::read_only) return bind.executable ? Rights::read_execute : Rights::read;
  return bind.executable ? Rights::read_write_execute : Rights::read_write;
}

// Opens and lists everything that is mounted from the host by descriptor.
class Builder {
 public:
  explicit Builder(const SandboxPlan& plan) : plan_(plan), account_(account_of(plan.uid)) {}

  Status build() {
    add_system(view_, plan_);
    add_etc(view_, {.user = account_.name,
                    .home = plan_.home_inside,
                    .uid = plan_.uid,
                    .gid = plan_.gid,
                    .host_network = plan_.host_network});
    TRY(add_home());
    for (const Bind& bind : plan_.binds) TRY(add_bind(bind));
    TRY(add_workspace());
    return add_covers();
  }
  [[nodiscard]] Result<std::vector<ViewEntry>> entries() { return view_.finish(); }
  [[nodiscard]] const std::vector<std::string>& visible() const { return visible_; }
  Sources sources;

 private:
  Status add_home() {
    if (plan_.home.empty()) {
      view_.temporary(plan_.home_inside, plan_.limits.temporary_bytes, 0755, Rights::read_write_execute);
      return {};
    }
    Source home = TRY(sources.open_path(plan_.home));
    if (!home.directory) return fail_errno("sandbox", plan_.home, ENOTDIR);
    visible_.push_back(home.real_path);
    view_.bind_source(home.index, plan_.home_inside, {.directory = true}, Rights::read_write_execute);
    return {};
  }

  Status add_bind(const Bind& bind) {
    Result<Source> source = sources.open_path(bind.source);
    if (!source && bind.optional && source.error().errno_value == ENOENT) return {};
    Source opened = TRY(std::move(source));
    visible_.push_back(opened.real_path);
    BindOptions options{
        .read_only = bind.access == Access::read_only, .executable = bind.executable, .directory = opened.directory};
    view_.bind_source(opened.index, bind.target, options, rights_of(bind));
    return {};
  }

  Status add_workspace() {
    workspace_ = TRY(sources.open_path(plan_.workspace));
    std::vector<std::string> homes = {plan_.home, plan_.home_inside, account_.home};
    if (::getuid() != plan_.uid) homes.push_back(account_of(::getuid()).home);
    TRY(check_workspace(plan_, workspace_, homes));
    visible_.push_back(workspace_.real_path);
    view_.bind_source(workspace_.index, plan_.workspace, {.directory = true}, Rights::read_write_execute);
    return {};
  }

  Status add_covers() {
    std::vector<Cover> covers = plan_.covers;
    std::sort(covers.begin(), covers.end(), [](const Cover& a, const Cover& b) { return a.path < b.path; });
    std::string hidden;
    for (const Cover& cover : covers) {
      if (!hidden.empty() && lies_within(cover.path, hidden)) continue;
      TRY(add_cover(cover));
      if (cover.kind == Cover::Kind::hide) hidden = cover.path;
    }
    return {};
  }

  Status add_cover(const Cover& cover) {
    std::optional<Source> target = TRY(sources.open_below(workspace_, cover.path.substr(plan_.workspace.size() + 1)));
    if (!target) return {};
    TRY(pin_parents(cover.path));
    if (!mounted_.insert(cover.path).second) return {};
    EntryKind kind = cover.kind == Cover::Kind::hide ? EntryKind::hide : EntryKind::protect;
    view_.cover(kind, target->index, cover.path, target->directory);
    return {};
  }

  Status pin_parents(const std::string& path) {
    std::vector<std::string> parents;
    for (std::string parent = parent_path(path); parent != plan_.workspace; parent = parent_path(parent))
      parents.insert(parents.begin(), parent);
    for (const std::string& parent : parents) {
      if (!mounted_.insert(parent).second) continue;
      std::optional<Source> pinned = TRY(sources.open_below(workspace_, parent.substr(plan_.workspace.size() + 1)));
      if (!pinned) return fail_errno("sandbox", parent, ENOENT);
      view_.cover(EntryKind::pin, pinned->index, parent, true);
    }
    return {};
  }

  const SandboxPlan& plan_;
  Account account_;
  View view_;
  Source workspace_;
  std::vector<std::string> visible_;
  std::set<std::string> mounted_;
};

// kernel.pid_max belongs to the pid namespace since 6.14; before, writing it would change the host.
bool pid_max_is_ours(const std::string& kernel) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(kernel.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 14);
}

PlanFields fields_of(const SandboxPlan& plan, const HostFacts& facts, const Planted& planted, bool script) {
  PlanFields fields;
  fields.flags = (plan.host_network ? kPlanHostNetwork : 0) | (script ? kPlanScript : 0);
  fields.uid = plan.uid;
  fields.gid = plan.gid;
  fields.landlock_abi = facts.landlock_abi;
  fields.pid_max = pid_max_is_ours(facts.kernel) ? plan.limits.processes : 0;
  fields.processes = plan.limits.processes;
  fields.file_size = plan.limits.file_size;
  fields.open_files = plan.limits.open_files;
  fields.shared_memory = plan.limits.temporary_bytes;
  fields.working_directory = plan.working_directory.empty() ? plan.workspace : plan.working_directory;
  fields.program = plan.program_inside;
  fields.planted_directory = planted.directory();
  fields.planted_abstract = planted.abstract_name();
  fields.ports = plan.connect_ports;
  fields.arguments = plan.argv;
  fields.environment = plan.environment;
  return fields;
}

Status check_program(const SandboxPlan& plan, const VerifiedArtifact& artifact) {
  if (artifact.is_script() && plan.program_inside.empty())
    return fail_errno("sandbox", artifact.path(), EINVAL, "a script needs its path inside the sandbox");
  std::string directory = plan.working_directory;
  if (!directory.empty() && directory != "/" && !clean(directory))
    return fail_errno("sandbox", directory, EINVAL, "give an absolute working directory");
  return {};
}

}  // namespace

Result<PreparedSandbox> prepare(const SandboxPlan& plan, const VerifiedArtifact& artifact, const HostFacts& facts) {
  if (facts.tier() != Tier::full) return cannot_confine("this machine", facts);
  TRY(check_strings(plan));
  TRY(check_paths(plan));
  TRY(check_numbers(plan));
  TRY(check_program(plan, artifact));
  Builder builder(plan);
  TRY(builder.build());
  std::vector<ViewEntry> entries = TRY(builder.entries());
  PreparedSandbox prepared;
  prepared.planted_ = TRY(Planted::make(plan.uid, plan.gid, builder.visible()));
  PlanFields fields = fields_of(plan, facts, *prepared.planted_, artifact.is_script());
  fields.entries = std::move(entries);
  fields.sources = builder.sources.count();
  prepared.message_ = TRY(plan_in_memory(write_plan(fields)));
  prepared.uid_ = plan.uid;
  prepared.gid_ = plan.gid;
  prepared.sources_ = builder.sources.take();
  prepared.program_ = Fd(::fcntl(artifact.fd(), F_DUPFD_CLOEXEC, 3));
  if (!prepared.program_) return fail_errno("sandbox", artifact.path(), errno);
  return prepared;
}

}  // namespace oncelatch::sandbox
