#include "launcher/exec/origins.h"

#include <algorithm>

#include "base/untrusted.h"
#include "launcher/exec/toolchains.h"

namespace oncelatch::launcher {

namespace {

constexpr std::string_view kOwn[] = {"HOME", "PATH", "SHELL", "TMPDIR", "LANG", "TERM", "CI"};

// Index of the option whose path is this one, or the size.
std::size_t position(const std::vector<std::string>& given, const std::string& path) {
  auto found = std::find_if(given.begin(), given.end(), [&](const std::string& one) { return real_path(one) == path; });
  return static_cast<std::size_t>(found - given.begin());
}

bool matches(const std::string& wanted, const std::string& name) {
  if (wanted == name) return true;
  return wanted.ends_with('*') && name.rfind(wanted.substr(0, wanted.size() - 1), 0) == 0;
}

}  // namespace

Origins::Origins(const ExecOptions& options, const ExecPlan& plan, const std::vector<std::string>& environment)
    : options_(options), plan_(plan) {
  const std::string home = find_home(environment);
  for (const std::string& name : plan.toolchains) {
    Result<ToolchainView> view = find_toolchains(Toolchains::list, {name}, home, plan.sandbox.home_inside, "");
    if (!view) continue;
    for (const std::string& directory : view->directories) directories_.emplace_back(directory, name);
    for (const std::string& variable : view->variables)
      variables_.emplace_back(variable.substr(0, variable.find('=')), name);
  }
}

std::string Origins::option(const char* name, bool of_file) const {
  if (!of_file) return name;
  const std::string& path = options_.from_file.path;
  return std::string(name) + ", from " + escape_for_display(path.substr(path.rfind('/') + 1), 200);
}

std::string Origins::of_bind(std::size_t index) const {
  const sandbox::Bind& bind = plan_.sandbox.binds[index];
  const bool writable = bind.access == sandbox::Access::read_write;
  const std::vector<std::string>& given = writable ? options_.write : options_.read;
  std::size_t at = position(given, bind.target);
  if (at < given.size())
    return option(writable ? "--write" : "--read",
                  at < (writable ? options_.from_file.write : options_.from_file.read));
  if (bind.target == plan_.repository.root) return "the repository that the workspace is a part of";
  if (bind.target == plan_.repository.directory) return "the workspace's repository, for git";
  if (bind.optional) return "tells git that another worktree is there";
  for (const auto& [path, name] : plan_.certificates)
    if (path == bind.target) return "certificates that " + name + " names";
  for (const auto& [directory, name] : directories_)
    if (directory == bind.target) return "toolchain " + name;
  return "a tool's directory of your PATH";
}

std::string Origins::of_cover(const sandbox::Cover& cover) const {
  if (cover.kind == sandbox::Cover::Kind::hide)
    return option("--deny", position(options_.deny, cover.path) < options_.from_file.deny);
  if (cover.kind == sandbox::Cover::Kind::link) return "a link to what is protected, or on the way there";
  const std::string& git = plan_.sandbox.own_branch.git_directory;
  for (const char* name : {"/HEAD", "/packed-refs", "/refs"})
    if (!git.empty() && is_or_contains(git + name, cover.path)) return option("--git own-branch", false);
  if (cover.path == plan_.own_directory) return "oncelatch itself lies there";
  return "git outside would run or follow what it says";
}

std::string Origins::of_variable(const std::string& name) const {
  const auto& set = options_.set_environment;
  for (std::size_t i = set.size(); i > 0; --i)
    if (set[i - 1].first == name) return option("--env", i - 1 < options_.from_file.set_environment);
  const auto& passed = plan_.environment.passed;
  if (std::find(passed.begin(), passed.end(), name) == passed.end()) {
    for (const auto& [variable, toolchain] : variables_)
      if (variable == name) return "toolchain " + toolchain;
    bool own = std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
    return own ? "set by oncelatch" : "set";
  }
  const auto& wanted = options_.pass_environment;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (matches(wanted[i], name))
      return option(("--pass-env " + wanted[i]).c_str(), i < options_.from_file.pass_environment);
  return "passed: harmless and useful";
}

}  // namespace oncelatch::launcher
