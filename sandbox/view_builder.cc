#include "sandbox/view_builder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sandbox/etc_table.h"
#include "sandbox/guarded_names.h"

namespace oncelatch::sandbox {

namespace {

bool named_below(const SandboxPlan& plan, const std::string& directory) {
  return lies_within(plan.workspace, directory) || lies_within(plan.home_inside, directory) ||
         std::any_of(plan.binds.begin(), plan.binds.end(),
                     [&](const Bind& bind) { return lies_within(bind.target, directory); }) ||
         std::any_of(plan.aliases.begin(), plan.aliases.end(),
                     [&](const Alias& alias) { return lies_within(alias.path, directory); });
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
  view.temporary("/tmp", 01777, Rights::read_write_execute);
  if (named_below(plan, "/var/tmp")) {
    view.temporary("/var/tmp", 01777, Rights::read_write_execute);
  } else {
    view.link("/var/tmp", "/tmp");
  }
}

// Directories of the host that are worked in at their own paths. Any other place that shows a part of one is that too:
// Landlock's rules are about the directory, not about the name that it has in the view.
bool is_the_hosts(const SandboxPlan& plan, const Bind& bind) {
  auto shares = [&](const std::string& path) {
    return lies_within(path, bind.source) || lies_within(bind.source, path);
  };
  auto is_one = [&](const Bind& other) {
    return other.access == Access::read_write && other.source == other.target && shares(other.source);
  };
  return shares(plan.workspace) || std::any_of(plan.binds.begin(), plan.binds.end(), is_one);
}

// Whether the confined side can make links on the way to the path.
bool writable_inside(const SandboxPlan& plan, const std::string& path) {
  auto holds = [&](const Bind& bind) {
    return bind.access == Access::read_write && bind.source != path && lies_within(path, bind.source);
  };
  return lies_within(path, plan.workspace) || std::any_of(plan.binds.begin(), plan.binds.end(), holds);
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

// Also one that the caller named.
bool is_git_directory(const Bind& bind) {
  return bind.git_directory || is_git_directory_name(bind.target.c_str() + bind.target.rfind('/') + 1);
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
  for (const Alias& alias : plan_.aliases) TRY(add_alias(alias));
  return add_covers();
}

Status ViewBuilder::add_home() {
  if (plan_.home.empty()) {
    view_.temporary(plan_.home_inside, 0700, Rights::read_write_execute);
    mounts_[plan_.home_inside] = {};
    return {};
  }
  Source home = TRY(sources.open_path(plan_.home));
  if (!home.directory) return fail_errno("sandbox", plan_.home, ENOTDIR);
  visible_.push_back(home.real_path);
  mounts_[plan_.home_inside] = home;
  view_.bind_source(home.index, plan_.home_inside, {.directory = true, .map_owner = maps_owner(plan_, home, false)},
                    Rights::read_write_execute);
  return {};
}

Status ViewBuilder::add_bind(const Bind& bind) {
  if (bind.where_guarded && !guards_) return {};
  Result<Source> source = sources.open_path(bind.source, !writable_inside(plan_, bind.source));
  if (!source && bind.optional && source.error().errno_value == ENOENT) return {};
  Source opened = TRY(std::move(source));
  TRY(check_still_there(bind, opened));
  visible_.push_back(opened.real_path);
  mounts_[bind.target] = opened;
  bool read_only = bind.access == Access::read_only;
  BindOptions options{.read_only = read_only,
                      .executable = bind.executable,
                      .directory = opened.directory,
                      .map_owner = maps_owner(plan_, opened, read_only),
                      .guarded = guards_ && !read_only && is_the_hosts(plan_, bind),
                      .git_directory = is_git_directory(bind),
                      .shared_only = bind.shared_only};
  view_.bind_source(opened.index, bind.target, options, rights_of(bind));
  return {};
}

Status ViewBuilder::add_workspace() {
  Source workspace = TRY(sources.open_path(plan_.workspace));
  std::vector<std::string> homes = {plan_.home, plan_.home_inside, account_.home};
  if (::getuid() != plan_.uid) homes.push_back(account_of(::getuid()).home);
  TRY(check_workspace(plan_, workspace, homes));
  visible_.push_back(workspace.real_path);
  mounts_[plan_.workspace] = workspace;
  if (plan_.overlay) return add_overlay(workspace);
  view_.bind_source(workspace.index, plan_.workspace,
                    {.directory = true, .map_owner = maps_owner(plan_, workspace, false), .guarded = guards_},
                    Rights::read_write_execute);
  return {};
}

Status ViewBuilder::add_overlay(const Source& workspace) {
  view_.bind_source(workspace.index, kOverlayLower,
                    {.read_only = true, .directory = true, .map_owner = maps_owner(plan_, workspace, false)},
                    Rights::none);
  view_.overlay(plan_.workspace, Rights::read_write_execute, maps_owner(plan_, workspace, false));
  if (plan_.layers.empty()) return {};  // only asked, by ViewAnswers
  Source layers = TRY(sources.open_path(plan_.layers));
  if (!layers.directory) return fail_errno("sandbox", plan_.layers, ENOTDIR);
  visible_.push_back(layers.real_path);
  view_.bind_source(layers.index, kOverlayLayers, {.directory = true}, Rights::none);
  return {};
}

Status ViewBuilder::add_covers() {
  Covers covers(sources, mounts_);
  for (const Cover& cover : plan_.covers)
    if (covers_in(cover, plan_, guards_)) TRY(covers.add(cover));
  return covers.write(view_);
}

// A link in a tree of the host would be made there, and one over a part of the view would take it away.
Status ViewBuilder::add_alias(const Alias& alias) {
  if (view_.names(alias.path))
    return fail_errno("sandbox", alias.path, EEXIST, "another name is needed: the view has something there");
  view_.link(alias.path, alias.target);
  return {};
}

}  // namespace oncelatch::sandbox
