#include "launcher/config.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/untrusted.h"
#include "base/yaml.h"
#include "launcher/environment.h"
#include "launcher/exec/cover_path.h"
#include "launcher/exec/git_covers.h"
#include "launcher/exec/options.h"
#include "launcher/exec/own_branch.h"
#include "launcher/exec/profile.h"
#include "launcher/exec/workspace.h"
#include "launcher/own_file.h"
#include "launcher/session_directory.h"

namespace oncelatch::launcher {
namespace {

constexpr std::size_t kMostPolicyBytes = std::size_t{1} << 20;
constexpr std::size_t kMostArguments = 256;
constexpr std::size_t kMostArgumentBytes = 4096;

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

Result<policy::Rules> load_rules(const std::string& path) {
  if (path.empty()) return policy::Rules();
  std::string text = TRY(read_own_file(path, {"policy", "name a policy file with --policy FILE", kMostPolicyBytes}));
  return policy::Rules::parse(text, path);
}

// As exec does (launcher/exec/plan.cc).
Status keep_other_branches(LaunchConfig& config, const std::vector<std::string>& shown) {
  if (config.options.worktree)
    return fail("command line", "--git own-branch", "a worktree has a branch of its own", "leave out one of the two");
  config.own_branch = TRY(find_own_branch(config.workspace, config.repository));
  for (const std::string& name : TRY(kept_references(config.own_branch)))
    for (sandbox::Cover& cover :
         cover_path(config.own_branch.git_directory, name, sandbox::Cover::Kind::protect, shown))
      config.git_covers.push_back(std::move(cover));
  return {};
}

Status find_git(LaunchConfig& config) {
  config.repository = find_repository(config.workspace, config.real_home);
  std::vector<std::string> shown = {config.workspace};
  if (!config.repository.directory.empty()) shown.push_back(config.repository.directory);
  for (const std::string& root : shown) {
    for (sandbox::Cover& cover : TRY(git_covers(root, shown, root == config.workspace)))
      config.git_covers.push_back(std::move(cover));
    config.new_worktrees = config.new_worktrees && named_in_each_work_tree(root).empty();
  }
  return config.options.own_branch ? keep_other_branches(config, shown) : Status();
}

Result<std::string> find_program(const AgentProfile& agent, const RunOptions& options,
                                 const std::vector<std::string>& environment) {
  if (!options.cli_path.empty()) return options.cli_path;
  std::string path = environment_value(environment, "PATH");
  for (std::size_t start = 0; start <= path.size();) {
    std::size_t end = std::min(path.find(':', start), path.size());
    std::string candidate = path.substr(start, end - start) + "/" + std::string(agent.program);
    if (candidate[0] == '/' && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    start = end + 1;
  }
  return Failure(Error{"agent", std::string(agent.program), "no such program in PATH",
                       "install it, or name the file with --cli-path FILE", ENOENT});
}

Status check_arguments(const AgentProfile& agent, const std::vector<std::string>& arguments) {
  if (arguments.size() > kMostArguments) return fail("agent", "arguments", fmt::format("more than {}", kMostArguments));
  for (const std::string& argument : arguments) {
    if (argument.size() > kMostArgumentBytes) {
      return fail("agent", "arguments", fmt::format("one is longer than {} bytes", kMostArgumentBytes));
    }
  }
  std::string refused = refused_argument(agent, arguments);
  if (refused.empty()) return {};
  return fail("agent", shown(refused),
              "refused: it switches the agent's own permission prompts off or changes them, so nothing would be asked",
              "leave it out and allow what you trust by a rule in --policy FILE");
}

}  // namespace

Status check_outside_workspace(const LaunchConfig& config, const std::string& path, const std::string& what,
                               const std::string& try_next) {
  // The nearest part that exists decides; what doesn't exist yet will be made below it.
  std::string real = real_path(path);
  for (std::string part = path; real.empty() && part.size() > 1;) {
    std::size_t slash = part.rfind('/');
    part = slash == std::string::npos ? "." : part.substr(0, std::max<std::size_t>(slash, 1));
    real = real_path(part);
    if (slash == std::string::npos) break;
  }
  if (!is_or_contains(config.workspace, real)) return {};
  return fail("workspace", shown(config.workspace),
              what + " lies in it (" + shown(path) + "), where the agent may write", try_next);
}

namespace {

Status check_digest(const std::string& digest) {
  bool hexadecimal = digest.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (digest.empty() || (digest.size() == 64 && hexadecimal)) return {};
  return fail("command line", "--sha256", "is not 64 hexadecimal digits", "sha256sum FILE prints them");
}

}  // namespace

Result<LaunchConfig> resolve_config(const RunOptions& options, std::vector<std::string> environment) {
  LaunchConfig config;
  TRY(check_digest(options.sha256));
  config.options = options;
  config.environment = std::move(environment);
  config.agent = find_agent(options.agent);
  if (config.agent == nullptr) {
    std::vector<std::string_view> known = agent_names();
    std::string near = nearest_word(options.agent, known);
    return fail("agent", shown(options.agent), "unknown agent",
                near.empty() ? "oncelatch run kiro" : "did you mean " + near + "?");
  }
  TRY(check_arguments(*config.agent, options.arguments));
  config.real_home = find_home(config.environment);
  config.workspace = TRY(find_workspace(options.workspace, config.real_home)).path;
  if (!options.policy.empty()) {
    TRY(check_outside_workspace(config, options.policy, "the policy",
                                "keep it outside, for example in ~/.config/oncelatch/"));
  }
  config.rules = TRY(load_rules(options.policy));
  config.program = TRY(find_program(*config.agent, options, config.environment));
  TRY(find_git(config));
  // The same words as exec's.
  ExecOptions network = TRY(parse_exec_options({"--net", options.network, "--", "agent"}));
  config.network = *network.network;
  config.ports = network.ports;
  config.memory = memory_share(find_profile("workstation")->memory_percent);
  TRY(set_identity(config, sandbox::IdentityChoice::proven));
  return config;
}

Status set_identity(LaunchConfig& config, sandbox::IdentityChoice choice) {
  SessionRoot root = TRY(SessionRoot::open(config.environment));
  std::vector<std::string> writable = {root.path()};
  if (!config.repository.directory.empty()) writable.push_back(config.repository.directory);
  config.on_host = choice == sandbox::IdentityChoice::on_host;
  config.identity = sandbox::choose_identity(config.workspace, writable, choice);
  // Mapped, a source's own owner is the one inside.
  config.uid = config.identity.idmapped ? ::geteuid() : config.identity.uid;
  config.gid = config.identity.idmapped ? ::getegid() : config.identity.gid;
  return {};
}

}  // namespace oncelatch::launcher
