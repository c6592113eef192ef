#include "sandbox/view_builder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sandbox/etc_table.h"

namespace oncelatch::sandbox {

namespace {

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

bool system_place(const std::string& path) {
  auto below = [&](const char* place) { return lies_within(path, place); };
  constexpr const char* kSystem[] = {"/etc",   "/usr",    "/var", "/run",  "/boot", "/lib",  "/lib32",
                                     "/lib64", "/libx32", "/bin", "/sbin", "/dev",  "/proc", "/sys"};
  constexpr const char* kOthers[] = {"/var/tmp", "/run/user", "/dev/shm"};
  if (std::any_of(std::begin(kOthers), std::end(kOthers), below)) return false;
  return path == "/" || std::any_of(std::begin(kSystem), std::end(kSystem), below);
}

// Everything that has the plan's owner or was named for writing. Of the system's own directories, given to read, only
// what everybody may read: root's session shows no more of them (/etc/shadow) than anybody's.
bool maps_owner(const SandboxPlan& plan, const Source& source, bool read_only) {
  bool system = read_only && source.directory && source.owner == 0 && system_place(source.real_path);
  return plan.idmapped && !system;
}

Rights rights_of(const Bind& bind) {
  if (bind.access == Access::read_only) return bind.executable ? Rights::read_execute : Rights::read;
  return bind.executable ? Rights::read_write_execute : Rights::read_write;
}

}  // namespace

Status ViewBuilder::build() {
  add_system(view_, plan_);
  add_etc(view_, {.user = account_.name,
                  .home = plan_.home_inside,
                  .uid = shown_uid(plan_),
                  .gid = shown_gid(plan_),
                  .host_network = plan_.network == Network::ports});
  TRY(add_home());
  for (const Bind& bind : plan_.binds) TRY(add_bind(bind));
  TRY(add_workspace());
  return add_covers();
}

Status ViewBuilder::add_home() {
  if (plan_.home.empty()) {
    view_.temporary(plan_.home_inside, plan_.limits.temporary_bytes, 0755, Rights::read_write_execute);
    return {};
  }
  Source home = TRY(sources.open_path(plan_.home));
  if (!home.directory) return fail_errno("sandbox", plan_.home, ENOTDIR);
  visible_.push_back(home.real_path);
  view_.bind_source(home.index, plan_.home_inside, {.directory = true, .map_owner = maps_owner(plan_, home, false)},
                    Rights::read_write_execute);
  return {};
}

Status ViewBuilder::add_bind(const Bind& bind) {
  Result<Source> source = sources.open_path(bind.source);
  if (!source && bind.optional && source.error().errno_value == ENOENT) return {};
  Source opened = TRY(std::move(source));
  visible_.push_back(opened.real_path);
  bool read_only = bind.access == Access::read_only;
  BindOptions options{.read_only = read_only,
                      .executable = bind.executable,
                      .directory = opened.directory,
                      .map_owner = maps_owner(plan_, opened, read_only)};
  view_.bind_source(opened.index, bind.target, options, rights_of(bind));
  return {};
}

Status ViewBuilder::add_workspace() {
  workspace_ = TRY(sources.open_path(plan_.workspace));
  std::vector<std::string> homes = {plan_.home, plan_.home_inside, account_.home};
  if (::getuid() != plan_.uid) homes.push_back(account_of(::getuid()).home);
  TRY(check_workspace(plan_, workspace_, homes));
  visible_.push_back(workspace_.real_path);
  view_.bind_source(workspace_.index, plan_.workspace,
                    {.directory = true, .map_owner = maps_owner(plan_, workspace_, false)}, Rights::read_write_execute);
  return {};
}

Status ViewBuilder::add_covers() {
  std::vector<Cover> covers = plan_.covers;
  std::sort(covers.begin(), covers.end(), [](const Cover& a, const Cover& b) { return a.path < b.path; });
  std::vector<std::string> hidden;
  for (const Cover& cover : covers) {
    auto holds = [&](const std::string& path) { return lies_within(cover.path, path); };
    if (std::any_of(hidden.begin(), hidden.end(), holds)) continue;
    TRY(add_cover(cover));
    if (cover.kind == Cover::Kind::hide) hidden.push_back(cover.path);
  }
  return {};
}

Status ViewBuilder::add_cover(const Cover& cover) {
  std::optional<Source> target = TRY(sources.open_below(workspace_, cover.path.substr(plan_.workspace.size() + 1)));
  if (!target) return {};
  TRY(pin_parents(cover.path));
  if (!mounted_.insert(cover.path).second) return {};
  EntryKind kind = cover.kind == Cover::Kind::hide ? EntryKind::hide : EntryKind::protect;
  view_.cover(kind, target->index, cover.path, target->directory);
  return {};
}

Status ViewBuilder::pin_parents(const std::string& path) {
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

}  // namespace oncelatch::sandbox
