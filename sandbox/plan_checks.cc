#include "sandbox/plan_checks.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "sandbox/plan_wire.h"
#include "sandbox/view.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::size_t kMostBinds = 256;
constexpr std::size_t kMostAliases = 64;
constexpr std::size_t kMostString = (128U << 10) - 1;  // kernel: MAX_ARG_STRLEN
constexpr std::size_t kMostStringBytes = 1536U << 10;  // under a quarter of the usual stack

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
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

// Below a mount and not one itself.
bool coverable(const SandboxPlan& plan, const std::string& path) {
  std::vector<std::string> targets = {plan.workspace, plan.home_inside};
  for (const Bind& bind : plan.binds) targets.push_back(bind.target);
  bool below = false;
  for (const std::string& target : targets) {
    if (path == target) return false;
    below = below || lies_within(path, target);
  }
  return below;
}

Status check_paths(const SandboxPlan& plan) {
  for (const std::string* path : {&plan.workspace, &plan.home_inside})
    if (!clean(*path)) return fail_errno("sandbox", *path, EINVAL, "give an absolute path without . and ..");
  for (const Bind& bind : plan.binds)
    if (!clean(bind.target))
      return fail_errno("sandbox", bind.target, EINVAL, "give an absolute target without . and ..");
  for (const Cover& cover : plan.covers)
    if (!clean(cover.path) || !coverable(plan, cover.path))
      return fail_errno("sandbox", cover.path, EINVAL, "covers lie inside the workspace, the home or a mount");
  for (const Alias& alias : plan.aliases)
    if (!clean(alias.path) || !clean(alias.target) || lies_within(alias.path, "/dev"))
      return fail_errno("sandbox", alias.path, EINVAL, "give absolute paths without . and .., outside /dev and /proc");
  if (!plan.program_inside.empty() && !clean(plan.program_inside))
    return fail_errno("sandbox", plan.program_inside, EINVAL, "give an absolute path without . and ..");
  return {};
}

// Nothing may be mounted below it, and the places where it is put together are its own.
Status check_overlay(const SandboxPlan& plan) {
  if (!plan.overlay) return {};
  if (!clean(plan.layers)) return fail_errno("sandbox", plan.layers, EINVAL, "give the layers' absolute path");
  std::vector<std::string> targets = {plan.workspace, plan.home_inside};
  for (const Bind& bind : plan.binds) targets.push_back(bind.target);
  for (const Alias& alias : plan.aliases) targets.push_back(alias.path);
  for (const std::string& target : targets) {
    if (lies_within(target, kOverlayPlace))
      return fail_errno("sandbox", target, EINVAL, "choose another name", "the overlay is put together there");
    if (target != plan.workspace && lies_within(target, plan.workspace))
      return fail_errno("sandbox", target, EINVAL, "leave it out, or run without the overlay",
                        "nothing can be mounted in a workspace under an overlay");
  }
  return {};
}

Status check_numbers(const SandboxPlan& plan) {
  if (plan.binds.size() > kMostBinds) return fail_errno("sandbox", "mounts", E2BIG, "at most 256 mounts");
  if (plan.covers.size() > kMostBinds) return fail_errno("sandbox", "covers", E2BIG, "at most 256 covers");
  if (plan.aliases.size() > kMostAliases) return fail_errno("sandbox", "aliases", E2BIG, "at most 64 other names");
  if (plan.connect_ports.size() > kMostPorts) return fail_errno("sandbox", "ports", E2BIG, "at most 64 ports");
  if (plan.limits.processes < 8 || plan.limits.open_files < 16 || plan.limits.temporary_bytes < 4096)
    return fail_errno("sandbox", "limits", EINVAL, "8 processes, 16 open files and 4096 bytes are the least");
  if (::geteuid() != 0 && (plan.uid != ::geteuid() || plan.gid != ::getegid()))
    return fail_errno("sandbox", "uid", EPERM, "only root can run the sandbox as another user");
  if (plan.idmapped && (::geteuid() != 0 || plan.uid == 0 || plan.gid == 0))
    return fail_errno("sandbox", "uid", EINVAL, "only root can map owners, and to another user than itself");
  return {};
}

}  // namespace

bool clean(const std::string& path) {
  return clean_path(path.data(), path.size());
}

Status check_plan(const SandboxPlan& plan) {
  TRY(check_strings(plan));
  TRY(check_paths(plan));
  TRY(check_overlay(plan));
  return check_numbers(plan);
}

Rights rights_of(const Bind& bind) {
  if (bind.access == Access::read_only) return bind.executable ? Rights::read_execute : Rights::read;
  return bind.executable ? Rights::read_write_execute : Rights::read_write;
}

Status check_still_there(const Bind& bind, const Source& opened) {
  if (opened.real_path == bind.source) return {};
  return fail_errno("sandbox", bind.source, ESTALE, "give its real path; start again if it is that",
                    "leads to " + opened.real_path);
}

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

bool is_system_place(const std::string& real_path) {
  auto within = [&](const char* place) { return lies_within(real_path, place); };
  constexpr const char* kSystem[] = {"/proc", "/sys",  "/dev", "/etc",   "/boot", "/usr",
                                     "/bin",  "/sbin", "/lib", "/lib64", "/run"};
  constexpr const char* kWork[] = {"/usr/src/", "/usr/local/src/", "/run/media/"};
  constexpr const char* kHolders[] = {"/", "/var", "/var/lib", "/var/cache", "/var/log", "/var/spool", "/var/tmp"};
  if (std::find(std::begin(kHolders), std::end(kHolders), real_path) != std::end(kHolders)) return true;
  auto starts = [&](const char* place) { return real_path.starts_with(place); };
  if (std::any_of(std::begin(kWork), std::end(kWork), starts)) return false;
  return std::any_of(std::begin(kSystem), std::end(kSystem), within);
}

Status check_workspace(const SandboxPlan& plan, const Source& workspace, const std::vector<std::string>& homes) {
  if (!workspace.directory) return fail_errno("sandbox", plan.workspace, ENOTDIR, "name a directory");
  if (workspace.real_path != plan.workspace)
    return fail("sandbox", plan.workspace, "not its real path", "use " + workspace.real_path);
  if (is_system_place(plan.workspace))
    return fail_errno("sandbox", plan.workspace, EINVAL, "use a project directory", "is a system directory");
  std::set<std::string> never = {"/tmp", "/opt", "/srv", "/home", "/root"};
  for (const std::string& home : homes)
    if (clean(home)) never.insert(home);
  for (const std::string& path : never)
    if (lies_within(path, plan.workspace))
      return fail_errno("sandbox", plan.workspace, EINVAL, "use a project directory", path + " would become writable");
  return {};
}

}  // namespace oncelatch::sandbox
