#include "launcher/exec/plan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/untrusted.h"
#include "base/yaml.h"
#include "launcher/exec/cover_path.h"
#include "launcher/exec/git_covers.h"
#include "launcher/exec/own_branch.h"
#include "launcher/exec/program.h"
#include "launcher/exec/toolchains.h"
#include "sandbox/enter.h"
#include "sandbox/etc_table.h"
#include "sandbox/identity.h"
#include "sandbox/plan_checks.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kHomeInside = "/home/agent";
std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

class PlanMaker {
 public:
  PlanMaker(const ExecOptions& options, const std::vector<std::string>& environment, sandbox::IdentityChoice choice)
      : options_(options), environment_(environment), choice_(choice), sandbox_(plan_.sandbox) {}

  Result<ExecPlan> make(const BeginLaunch& begin) {
    TRY(choose_profile());
    home_ = find_home(environment_);
    plan_.workspace = TRY(find_workspace(options_.workspace, home_));
    sandbox_.workspace = plan_.workspace.path;
    sandbox_.home_inside = kHomeInside;
    TRY(show_paths());
    show_repository();
    show_worktrees();
    choose_network();
    TRY(choose_limits());
    choose_user();
    choose_workspace_mode();
    choose_worktrees();
    if (begin) TRY(begin(plan_));
    show_certificates();
    TRY(show_toolchains());
    TRY(take_back());
    add_aliases(plan_.workspace.aliases);
    TRY(cover());
    TRY(choose_environment());
    TRY(choose_command());
    add_notes();
    return std::move(plan_);
  }

 private:
  Status choose_profile() {
    std::string name = options_.profile.empty() ? "workstation" : options_.profile;
    const ExecProfile* profile = find_profile(name);
    if (profile != nullptr) plan_.profile = *profile;
    if (profile != nullptr) return {};
    std::string near = nearest_word(name, profile_names());
    return fail("profile", shown(name),
                near.empty() ? "no such profile" : "no such profile; did you mean " + near + "?",
                "workstation, ci, strict, or a file that ends in .yaml");
  }

  Status show_paths() {
    const FromFile& file = options_.from_file;
    for (std::size_t i = 0; i < options_.read.size(); ++i)
      TRY(show(options_.read[i], sandbox::Access::read_only, origin("--read", i < file.read)));
    for (std::size_t i = 0; i < options_.write.size(); ++i)
      TRY(show(options_.write[i], sandbox::Access::read_write, origin("--write", i < file.write)));
    return {};
  }

  // Git works inside a part of a repository, too: with the files beside it, which are read, and with what all its
  // worktrees share, which is written by the guard's rules or not at all.
  void show_repository() {
    plan_.repository = find_repository(sandbox_.workspace, home_);
    const std::string& directory = plan_.repository.directory;
    const std::string& root = plan_.repository.root;
    if (!plan_.repository.note.empty()) plan_.notes.push_back(plan_.repository.note);
    auto is_shown = [&](const std::string& path) {
      auto same = [&](const sandbox::Bind& bind) { return bind.target == path; };
      return std::any_of(sandbox_.binds.begin(), sandbox_.binds.end(), same);
    };
    if (!root.empty() && !is_shown(root)) {
      sandbox_.binds.push_back({.source = root, .target = root});
      visible_.push_back(root);
      plan_.notes.push_back("the workspace is a part of the repository " + shown(root) +
                            ": the rest of it can be read, and its .git is " +
                            (options_.overlay ? "read by git" : "written by git") + "; --deny hides what it names");
    }
    if (directory.empty() || is_shown(directory)) return;
    for (sandbox::Bind& bind : repository_binds(plan_.repository)) {
      // Under an overlay it is read: a commit would be the host's at once.
      if (options_.overlay) bind = {.source = bind.source, .target = bind.target, .git_directory = true};
      sandbox_.binds.push_back(std::move(bind));
    }
    if (options_.overlay)
      plan_.notes.push_back("the repository " + shown(directory) +
                            " lies outside of the workspace: under the overlay git reads it, and can't commit");
    visible_.push_back(directory);
  }

  // What guards this work tree by its place wouldn't guard another that git adds inside.
  void choose_worktrees() {
    std::string named = named_in_each_work_tree(sandbox_.workspace);
    for (const sandbox::Bind& bind : sandbox_.binds)
      if (bind.access == sandbox::Access::read_write && named.empty()) named = named_in_each_work_tree(bind.source);
    sandbox_.new_worktrees = named.empty();
    if (!named.empty() && sandbox_.guard)
      plan_.notes.push_back("git worktree add is refused inside: the repository's settings name " + shown(named) +
                            " in each work tree");
  }

  // Of other linked worktrees, by which git sees that they are there still.
  void show_worktrees() {
    const std::string& outside = plan_.repository.directory;
    for (const std::string& pointer : worktree_pointers(outside.empty() ? sandbox_.workspace + "/.git" : outside))
      if (!in_view(pointer)) sandbox_.binds.push_back({.source = pointer, .target = pointer, .optional = true});
  }

  // What a variable names, where that is a file or directory by its absolute path. The sandbox has a /tmp of its own.
  [[nodiscard]] std::string named_by(const std::string& variable) const {
    std::string value = value_of(environment_, variable);
    if (value.empty() || value[0] != '/') return {};
    std::string real = real_path(value);
    struct stat info {};
    const bool usable = !real.empty() && ::stat(real.c_str(), &info) == 0;
    if (!usable || real == "/tmp" || real == "/var/tmp") return {};
    return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) ? real : std::string();
  }

  // Inside as it is outside: in a part of the system that every sandbox has, in the workspace, or shown.
  [[nodiscard]] bool in_view(const std::string& real) const {
    std::vector<std::string> places = sandbox::etc_paths(true);
    places.insert(places.end(), {"/usr", sandbox_.workspace});
    places.insert(places.end(), visible_.begin(), visible_.end());
    return std::any_of(places.begin(), places.end(),
                       [&](const std::string& place) { return is_or_contains(place, real); });
  }

  // Files that variables name which the caller passes by their names. Not through a link: one on the way may be the
  // repository's. What can't be shown is told as what other variables name is.
  void show_certificates() {
    for (const std::string& name : options_.pass_environment) {
      const std::string real = names_certificates(name) ? named_by(name) : std::string();
      struct stat info {};
      const bool file = !real.empty() && ::stat(real.c_str(), &info) == 0 && S_ISREG(info.st_mode);
      if (!file || real != value_of(environment_, name) || in_view(real)) continue;
      if (show(real, sandbox::Access::read_only, "--pass-env " + name + ":"))
        plan_.certificates.emplace_back(real, name);
    }
  }

  [[nodiscard]] std::string origin(const char* option, bool of_file) const {
    return of_file ? shown(options_.from_file.path) + ": " + std::string(option).substr(2) : option;
  }

  Status show(const std::string& given, sandbox::Access access, const std::string& option) {
    std::string object = option + " " + shown(given);
    std::string real = real_path(given);
    if (real.empty()) return fail_errno("command line", object, errno, "name something that exists");
    if (real == "/") return fail("command line", object, "the whole file system can't be shown", "name what is needed");
    struct stat info {};
    if (::stat(real.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
      return fail("command line", object, "is neither a directory nor a regular file",
                  "sockets, devices and FIFOs can't be shown");
    bool writable = access == sandbox::Access::read_write;
    if (std::string denied = denied_by(real); !denied.empty() && is_or_contains(sandbox_.workspace, real)) {
      plan_.notes.push_back(object + " isn't shown: --deny " + shown(denied) + " hides it");
      return {};
    }
    if (writable && is_or_contains(sandbox_.workspace, real)) {
      plan_.notes.push_back(object + " lies in the workspace: it is writable anyway, but for what is protected there");
      return {};
    }
    if (!writable && real != sandbox_.workspace && is_or_contains(sandbox_.workspace, real)) {
      read_inside_.push_back(real.substr(sandbox_.workspace.size() + 1));
      return {};
    }
    if (writable && through_workspace(given, real))
      return fail("command line", object,
                  "leads through the workspace to " + shown(real) + ", by what a run may have made",
                  "name it by its own path");
    if (writable && !home_.empty() && is_or_contains(real, home_))
      return fail("command line", object, "is your home or holds it", "name a directory below it");
    bool kernel = is_or_contains("/proc", real) || is_or_contains("/sys", real) || is_or_contains("/dev", real);
    if (kernel || (writable && sandbox::is_system_place(real)))
      return fail("command line", object, "can't be shown" + std::string(writable ? " writable" : ""),
                  "the sandbox has its own");
    sandbox_.binds.push_back({.source = real, .target = real, .access = access});
    visible_.push_back(real);
    if (through_workspace(given, real))
      plan_.notes.push_back(object + " leads through the workspace to " + shown(real));
    std::string spelled = given[0] == '/' ? given : real_path(".") + "/" + given;
    for (auto& link : links_along(spelled)) links_.push_back(std::move(link));
    return {};
  }

  [[nodiscard]] std::string denied_by(const std::string& real) const {
    for (const std::string& given : options_.deny)
      if (std::string denied = real_path(given); !denied.empty() && is_or_contains(denied, real)) return given;
    return {};
  }

  // By a link that the repository may have made.
  [[nodiscard]] bool through_workspace(const std::string& given, const std::string& real) const {
    return !is_or_contains(sandbox_.workspace, real) && passes_through(sandbox_.workspace, given);
  }

  // The caller's own spellings lead to the same places inside.
  void add_aliases(std::vector<std::pair<std::string, std::string>> links) {
    links.insert(links.end(), links_.begin(), links_.end());
    std::vector<std::string> taken = visible_;
    taken.push_back(sandbox_.workspace);
    for (const char* system : {"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/dev", "/proc",
                               "/var/tmp", kHomeInside})
      taken.emplace_back(system);
    for (const auto& [path, target] : links) {
      auto holds = [&link = path](const std::string& place) { return is_or_contains(place, link); };
      if (std::any_of(taken.begin(), taken.end(), holds)) continue;
      taken.push_back(path);
      sandbox_.aliases.push_back({path, target});
    }
  }

  // The caller's PATH, but for what leads through the workspace: a link there may be the repository's.
  [[nodiscard]] std::string outer_path() const {
    const std::string all = value_of(environment_, "PATH");
    std::string path;
    for (std::size_t start = 0; start <= all.size();) {
      const std::size_t end = std::min(all.find(':', start), all.size());
      const std::string directory = all.substr(start, end - start);
      start = end + 1;
      if (directory.empty() || passes_through(sandbox_.workspace, directory + "/")) continue;
      path += (path.empty() ? "" : ":") + directory;
    }
    return path;
  }

  Status show_toolchains() {
    Toolchains which = options_.toolchains.value_or(plan_.profile.toolchains);
    ToolchainView view = TRY(find_toolchains(which, options_.toolchain_names, home_, kHomeInside, outer_path()));
    for (const std::string& directory : view.directories) {
      if (is_or_contains(sandbox_.workspace, directory)) continue;  // it is there, writable as the workspace is
      sandbox_.binds.push_back({.source = directory, .target = directory});
      visible_.push_back(directory);
    }
    path_ = view.path;
    variables_ = view.variables;
    plan_.toolchains = view.names;
    return {};
  }

  // What is there now must still be there when it is covered.
  void protect(const std::string& root, const std::string& relative) {
    add_covers(cover_path(root, relative, sandbox::Cover::Kind::protect, writable_));
  }

  void add_covers(std::vector<sandbox::Cover> covers) {
    using Kind = sandbox::Cover::Kind;
    for (sandbox::Cover& cover : covers) {
      auto same = [&](const sandbox::Cover& other) { return other.path == cover.path; };
      if (std::any_of(sandbox_.covers.begin(), sandbox_.covers.end(), same)) continue;
      if (cover.kind == Kind::link)
        plan_.notes.push_back(
            shown(cover.path) +
            " is a link: it can't be replaced inside, and what it leads to is protected where it is shown");
      sandbox_.covers.push_back(std::move(cover));
    }
  }

  // By name (the broker), and what is there now by mounts, which keep it from being removed.
  Status keep_other_branches() {
    sandbox_.own_branch = TRY(find_own_branch(sandbox_.workspace, plan_.repository));
    const bool outside = !plan_.repository.directory.empty();
    for (const std::string& name : TRY(kept_references(sandbox_.own_branch)))
      protect(outside ? plan_.repository.directory : sandbox_.workspace, (outside ? "" : ".git/") + name);
    return {};
  }

  // What would run outside later, ourselves included, and what the caller denies.
  Status cover() {
    writable_ = {sandbox_.workspace};
    for (const sandbox::Bind& bind : sandbox_.binds)
      if (bind.access == sandbox::Access::read_write && bind.source != writable_[0]) writable_.push_back(bind.source);
    for (const std::string& root : writable_) add_covers(TRY(git_covers(root, writable_, root == sandbox_.workspace)));
    for (const std::string& relative : read_inside_) protect(sandbox_.workspace, relative);
    if (options_.own_branch && options_.overlay)
      return fail("command line", "--git own-branch", "isn't kept under an overlay: what changes is looked at instead",
                  "leave out one of the two");
    if (options_.own_branch) TRY(keep_other_branches());
    std::string own = real_path(TRY(sandbox::find_companion("oncelatch-exec")));
    std::string directory = own.substr(0, own.rfind('/'));
    for (const std::string& root : writable_) {
      if (directory == root)
        return fail("workspace", shown(root), "oncelatch itself lies in it", "install oncelatch outside of it");
      if (is_or_contains(root, directory)) plan_.own_directory = directory;
    }
    if (!plan_.own_directory.empty()) protect("/", directory);
    for (const std::string& path : denied_) TRY(hide(path));
    return {};
  }

  // What a denied path is or holds of what was to be shown isn't shown at all; the rest is covered later.
  Status take_back() {
    for (const std::string& given : options_.deny) {
      std::string object = "--deny " + shown(given);
      std::string real = TRY(find_denied(given, object));
      auto denied = [&](const sandbox::Bind& bind) { return is_or_contains(real, bind.source); };
      for (const sandbox::Bind& bind : sandbox_.binds)
        if (denied(bind)) plan_.notes.push_back(object + ": " + shown(bind.source) + " isn't shown");
      std::erase_if(sandbox_.binds, denied);
      std::erase_if(visible_, [&](const std::string& path) { return is_or_contains(real, path); });
      std::erase_if(links_, [&](const auto& link) { return is_or_contains(real, link.second); });
      denied_.push_back(std::move(real));
    }
    return {};
  }

  [[nodiscard]] Result<std::string> find_denied(const std::string& given, const std::string& object) const {
    std::string real = real_path(given);
    if (given.find_first_of("*?[") != std::string::npos && real.empty())
      return fail("command line", object, "a pattern can't be enforced: files made later would not be covered",
                  "name each file or directory");
    if (real.empty())
      return fail_errno("command line", object, errno, "name something that exists; what doesn't can't be covered");
    if (is_or_contains(real, sandbox_.workspace))
      return fail("command line", object, "the workspace lies in it", "name something inside");
    if (is_or_contains(sandbox_.workspace, real)) return real;  // also one below /usr/src
    std::vector<std::string> system = sandbox::etc_paths(true);
    for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc"}) system.emplace_back(path);
    for (const std::string& place : system) {
      if (is_or_contains(place, real) || is_or_contains(real, place))
        return fail("command line", object, "is of the system, of which every sandbox shows the same", "leave it out");
    }
    return real;
  }

  Status hide(const std::string& real) {
    auto holds = [&](const std::string& path) { return is_or_contains(path, real); };
    if (!holds(sandbox_.workspace) && std::none_of(visible_.begin(), visible_.end(), holds))
      return {};  // not shown anyway
    struct stat info {};
    if (::stat(real.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 1) TRY(lose_other_names(real));
    sandbox_.covers.push_back({.path = real, .kind = sandbox::Cover::Kind::hide, .required = true});
    return {};
  }

  // Hard links: only a walk of all that is shown could find them.
  Status lose_other_names(const std::string& real) {
    const std::string what = "has more than one name, and only this one can be hidden";
    const std::vector<std::string>& accepted = options_.accepted_losses;
    if (std::find(accepted.begin(), accepted.end(), "deny_inside") == accepted.end())
      return fail("command line", "--deny " + shown(real), what + ": can't be enforced",
                  "put a copy in its place (cp -p F F.new && mv F.new F), or --accept-loss deny_inside");
    plan_.notes.push_back("--deny " + shown(real) + " " + what);
    return {};
  }

  // Under an overlay only what else may be written has to be guarded; all of that is known by now.
  void choose_workspace_mode() {
    sandbox_.overlay = options_.overlay;
    auto is_written = [](const sandbox::Bind& bind) { return bind.access == sandbox::Access::read_write; };
    if (options_.overlay) sandbox_.guard = std::any_of(sandbox_.binds.begin(), sandbox_.binds.end(), is_written);
  }

  void choose_network() {
    sandbox_.network = options_.network.value_or(sandbox::Network::none);
    sandbox_.connect_ports = options_.ports;
    sandbox_.allow_ptrace = options_.allow_ptrace;
    sandbox_.held = options_.held.value_or(plan_.profile.held);
    sandbox_.hold_builds = plan_.profile.hold_builds;
  }

  Status choose_limits() {
    sandbox::Limits& limits = sandbox_.limits;
    limits.processes = options_.processes.value_or(limits.processes);
    limits.open_files = options_.open_files.value_or(limits.open_files);
    limits.file_size = options_.file_size.value_or(limits.file_size);
    limits.temporary_bytes = options_.temporary_bytes.value_or(limits.temporary_bytes);
    limits.memory = options_.memory.value_or(memory_share(plan_.profile.memory_percent));
    if (limits.memory == 0)
      return fail("command line", "--limit memory", "the size of this machine's memory isn't known",
                  "give it as --limit memory=NUMBER");
    limits.memory_required = options_.memory.has_value();
    // Entering a group takes the kernel milliseconds; without one the first process inside counts.
    limits.control_groups = options_.memory.has_value() || plan_.profile.control_groups;
    plan_.seconds = options_.seconds.value_or(plan_.profile.seconds);
    limits.seconds = plan_.seconds;
    return {};
  }

  void choose_user() {
    std::vector<std::string> writable;
    for (const sandbox::Bind& bind : sandbox_.binds)
      if (bind.access == sandbox::Access::read_write) writable.push_back(bind.source);
    sandbox::Identity identity = sandbox::choose_identity(sandbox_.workspace, writable, choice_);
    sandbox_.uid = identity.uid;
    sandbox_.gid = identity.gid;
    sandbox_.shown_uid = identity.shown_uid;
    sandbox_.shown_gid = identity.shown_gid;
    sandbox_.idmapped = identity.idmapped;
    if (!identity.loss.empty()) plan_.notes.push_back(identity.loss);
    sandbox_.limits.control_groups |= identity.uid == 0;  // no rlimit binds the kernel's root
  }

  Status choose_environment() {
    for (std::string_view directory : kSystemPath) path_.emplace_back(directory);
    std::string joined;
    for (const std::string& directory : path_) joined += (joined.empty() ? "" : ":") + directory;
    // The overlay is a file system of its own, and the repository above it another one.
    if (options_.overlay && !plan_.repository.root.empty())
      variables_.emplace_back("GIT_DISCOVERY_ACROSS_FILESYSTEM=1");
    bool ci = plan_.profile.runner_commands;
    plan_.environment =
        TRY(command_environment(environment_, options_, {kHomeInside, joined, std::move(variables_), ci}));
    sandbox_.environment = plan_.environment.variables;
    for (const std::string& warning : plan_.environment.warnings) plan_.notes.push_back(warning);
    return {};
  }

  Status choose_command() {
    for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib64"}) visible_.push_back(real_path(path));
    visible_.push_back(sandbox_.workspace);
    std::string here = real_path(".");
    sandbox_.working_directory = is_or_contains(sandbox_.workspace, here) ? here : sandbox_.workspace;
    std::string base = here.empty() ? sandbox_.workspace : here;
    CommandFile file = TRY(find_command(options_.command[0], base, search_path(), visible_));
    sandbox_.argv = options_.command;
    sandbox_.program_inside = cleaned(file);
    plan_.program = file.real;
    return {};
  }

  // Of a PATH that was given with --env, only absolute directories.
  [[nodiscard]] std::vector<std::string> search_path() const {
    std::string value = value_of(sandbox_.environment, "PATH");
    std::vector<std::string> directories;
    for (std::size_t start = 0; start <= value.size();) {
      std::size_t end = std::min(value.find(':', start), value.size());
      if (end > start && value[start] == '/') directories.push_back(value.substr(start, end - start));
      start = end + 1;
    }
    return directories;
  }

  // The name it is started by, without "." and ".."; its real path where that isn't one.
  [[nodiscard]] static std::string cleaned(const CommandFile& file) {
    bool plain = file.path.find("/./") == std::string::npos && file.path.find("/../") == std::string::npos &&
                 file.path.find("//") == std::string::npos;
    return plain ? file.path : file.real;
  }

  void add_notes() {
    for (const std::string& name : plan_.environment.passed)
      if (const std::string real = named_by(name); !real.empty() && !in_view(real))
        plan_.notes.push_back(shown(name) + " names " + shown(real) + ", which isn't visible inside: --read shows it");
    if (std::string note = note_on_settings(plan_.workspace.path); !note.empty())
      plan_.notes.push_back(std::move(note));
    if (plan_.workspace.is_link)
      plan_.notes.push_back("the workspace is a link, and leads to " + shown(plan_.workspace.path));
    if (sandbox_.network == sandbox::Network::ports)
      plan_.notes.emplace_back("network: the host's; any host on the ports named, and UDP, can be reached");
  }

  const ExecOptions& options_;
  const std::vector<std::string>& environment_;
  sandbox::IdentityChoice choice_;
  ExecPlan plan_;
  sandbox::SandboxPlan& sandbox_;
  std::string home_;
  std::vector<std::string> visible_;
  std::vector<std::string> denied_;       // real paths
  std::vector<std::string> read_inside_;  // of --read, below the workspace: there it means never changed
  std::vector<std::string> writable_;     // the workspace first
  std::vector<std::pair<std::string, std::string>> links_;
  std::vector<std::string> path_;
  std::vector<std::string> variables_;
};

}  // namespace

Result<ExecPlan> make_exec_plan(const ExecOptions& options, const std::vector<std::string>& environment,
                                sandbox::IdentityChoice choice, const BeginLaunch& begin) {
  const PathMemory memory;
  return PlanMaker(options, environment, choice).make(begin);
}

}  // namespace oncelatch::launcher
