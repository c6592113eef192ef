#include "launcher/exec/workspace.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/untrusted.h"
#include "launcher/exec/environment.h"
#include "sandbox/guarded_names.h"
#include "sandbox/plan_checks.h"

namespace oncelatch::launcher {

namespace {

constexpr int kMostLinks = 40;  // as the kernel: ELOOP beyond

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

Status check_place(const std::string& real, const std::string& home) {
  if (real == "/") {
    return fail("workspace", "/", "the whole file system can't be a workspace: the agent could write everywhere",
                "start in the repository, or name it with --workspace DIR");
  }
  if (!home.empty() && is_or_contains(real, home)) {
    return fail("workspace", shown(real),
                "is your home directory or holds it: keys and settings would be open to the agent",
                "use a directory below it, such as the repository, with --workspace DIR");
  }
  if (sandbox::is_system_place(real) || holds_others(real))
    return fail("workspace", shown(real), "is a system directory", "name the repository with --workspace DIR");
  return {};
}

bool is_git_directory(const std::string& path) {
  return exists(path + "/HEAD") &&
         ((exists(path + "/objects") && exists(path + "/refs")) || exists(path + "/commondir"));
}

// What gives a place its names' meaning: the repository that it lies in, else the home, else everything.
std::string judged_from(const std::string& real, const std::string& home) {
  for (std::string at = real; !at.empty(); at = parent_of(at))
    if (exists(at + "/.git")) return at;
  return !home.empty() && is_or_contains(home, real) ? home : std::string();
}

// The guard judges names by what they are called below the workspace: what a program outside knows them by mustn't lie
// above it.
Status check_names(const std::string& real, const std::string& home) {
  for (std::string at = real; !at.empty(); at = parent_of(at))
    if (sandbox::is_git_directory_name(at.c_str() + at.rfind('/') + 1) || (at != real && is_git_directory(at)))
      return fail("workspace", shown(real), "lies in a git directory: git follows what is in it",
                  "name the work tree with --workspace DIR");
  const std::string from = judged_from(real, home);
  if (from == real) return {};
  const std::string below = real.substr(from.size() + 1);
  const sandbox::GuardedName* row = sandbox::guarded_name((below + "/x").c_str());
  if (row == nullptr) row = sandbox::guarded_name_below(below.c_str());
  if (row == nullptr || (row->guard != sandbox::Guard::refused && row->guard != sandbox::Guard::held)) return {};
  return fail("workspace", shown(real), std::string("what lies there takes effect outside: ") + row->reason,
              from.empty() || from == home ? "name what it belongs to with --workspace DIR"
                                           : "--workspace " + shown(from) + " takes the whole repository");
}

std::vector<std::string>* remembered = nullptr;  // names that are no links

bool is_plain(const std::string& path) {
  return path.size() > 1 && path[0] == '/' && path.back() != '/' && path.find("//") == std::string::npos &&
         (path + "/").find("/./") == std::string::npos && (path + "/").find("/../") == std::string::npos;
}

enum class Seen { no_link, link, missing };

// As realpath(3) looks, each name once. `missing` leaves errno.
Seen look_along(const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string name = path.substr(0, end);
    if (std::find(remembered->begin(), remembered->end(), name) != remembered->end()) continue;
    char byte = 0;
    if (::readlink(name.c_str(), &byte, 1) >= 0) return Seen::link;
    if (errno != EINVAL) return Seen::missing;
    remembered->push_back(name);
  }
  return Seen::no_link;
}

}  // namespace

PathMemory::PathMemory() {
  remembered = new std::vector<std::string>;
}

PathMemory::~PathMemory() {
  delete remembered;
  remembered = nullptr;
}

std::string real_path(const std::string& path) {
  if (remembered != nullptr && is_plain(path)) {
    const Seen seen = look_along(path);
    if (seen == Seen::no_link) return path;
    if (seen == Seen::missing) return {};
  }
  char buffer[PATH_MAX];
  if (::realpath(path.c_str(), buffer) == nullptr) return {};
  // POSIX leaves two leading slashes to the system, and musl keeps them, also those of a link; Linux knows one root.
  return buffer[0] == '/' && buffer[1] == '/' ? buffer + 1 : buffer;
}

bool is_or_contains(const std::string& outer, const std::string& inner) {
  return outer == inner || outer == "/" ||
         (inner.size() > outer.size() && inner.compare(0, outer.size(), outer) == 0 && inner[outer.size()] == '/');
}

bool holds_others(const std::string& real) {
  constexpr const char* kHolders[] = {"/", "/tmp", "/home", "/root", "/opt", "/srv"};
  return std::find(std::begin(kHolders), std::end(kHolders), real) != std::end(kHolders);
}

bool passes_through(const std::string& place, const std::string& path) {
  const std::string spelled = path[0] == '/' ? path : "./" + path;
  for (std::size_t slash = spelled.find('/', 1); slash != std::string::npos; slash = spelled.find('/', slash + 1))
    if (is_or_contains(place, real_path(spelled.substr(0, slash)))) return true;
  return false;
}

std::string find_home(const std::vector<std::string>& environment) {
  std::string home = value_of(environment, "HOME");
  if (home.empty()) {
    const passwd* entry = ::getpwuid(::getuid());
    if (entry != nullptr) home = entry->pw_dir;
  }
  return home.empty() ? home : real_path(home);
}

std::vector<std::pair<std::string, std::string>> links_along(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> links;
  std::string rest = path;
  std::string at;  // real so far
  while (!rest.empty() && links.size() < kMostLinks) {
    std::size_t slash = rest.find('/');
    std::string name = rest.substr(0, slash);
    rest = slash == std::string::npos ? std::string() : rest.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = parent_of(at);
      continue;
    }
    std::string here = at + "/" + name;
    char target[PATH_MAX];
    ssize_t size = ::readlink(here.c_str(), target, sizeof target - 1);
    if (size <= 0) {
      at = here;
      continue;
    }
    std::string real = real_path(here);
    if (real.empty()) return links;
    links.emplace_back(here, real);
    std::string to(target, static_cast<std::size_t>(size));
    if (to[0] == '/') at.clear();
    rest = to + (rest.empty() ? "" : "/" + rest);
  }
  return links;
}

std::string note_on_settings(const std::string& workspace) {
  const std::string file = workspace + "/.oncelatch.yaml";
  if (!exists(file)) return {};
  return shown(file) + " isn't read: what holds here comes from you, not from the repository";
}

Result<Workspace> find_workspace(const std::string& given, const std::string& home) {
  std::string spelled = given.empty() ? "." : given;
  std::string real = real_path(spelled);
  if (real.empty())
    return fail_errno("workspace", shown(spelled), errno, "name an existing directory with --workspace DIR");
  struct stat info {};
  if (::stat(real.c_str(), &info) != 0) return fail_errno("workspace", shown(real), errno);
  if (!S_ISDIR(info.st_mode))
    return fail("workspace", shown(real), "is not a directory", "name a directory with --workspace DIR");
  TRY(check_place(real, home));
  TRY(check_names(real, home));
  struct stat last {};
  const bool is_link = ::lstat(spelled.c_str(), &last) == 0 && S_ISLNK(last.st_mode);
  Workspace workspace{real, {}, is_link};
  // The shell's own name for the current directory may lead through links, too.
  if (spelled[0] != '/') {
    const char* named = std::getenv("PWD");
    std::string base = named != nullptr && real_path(named) == real_path(".") ? named : real_path(".");
    spelled = base + "/" + spelled;
  }
  workspace.aliases = links_along(spelled);
  return workspace;
}

}  // namespace oncelatch::launcher
