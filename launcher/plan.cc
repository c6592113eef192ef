#include "launcher/plan.h"

#include <utility>

#include "launcher/environment.h"
#include "launcher/exec/cover_path.h"

namespace oncelatch::launcher {
namespace {

// What of the repository's git directory would run on the host later. The creation guard covers what doesn't exist yet.
constexpr std::string_view kGitProtected[] = {".git/hooks", ".git/config", ".git/config.worktree"};
// Git works in these, too: where the broker guards by names, they stay writable.
constexpr std::string_view kGitGuarded[] = {".git/info", ".git/modules"};

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void add_covers(sandbox::SandboxPlan& plan, const AgentProfile& agent, bool git_is_file) {
  using Kind = sandbox::Cover::Kind;
  auto add_all = [&](std::vector<sandbox::Cover> covers) {
    for (sandbox::Cover& cover : covers) plan.covers.push_back(std::move(cover));
  };
  auto add = [&](std::string_view name, Kind kind) {
    add_all(cover_path(plan.workspace, std::string(name), kind, {plan.workspace}));
  };
  for (std::string_view hidden : agent.hidden) add(hidden, Kind::hide);
  if (git_is_file) return add(".git", Kind::protect);
  for (std::string_view name : kGitProtected) add(name, Kind::protect);
  for (std::string_view name : kGitGuarded)
    add_all(cover_where_unguarded(plan.workspace, std::string(name), {plan.workspace}));
}

}  // namespace

LaunchPlan make_plan(const LaunchConfig& config, const std::string& session_path, const std::string& artifact_path) {
  LaunchPlan plan;
  plan.recorder = session_path + "/record.jsonl";
  plan.home = session_path + "/home";
  sandbox::SandboxPlan& inside = plan.sandbox;
  inside.workspace = config.workspace;
  inside.working_directory = config.workspace;
  inside.home = plan.home;
  inside.home_inside = kHomeInside;
  inside.program_inside = std::string(kProgramsInside) + "/" + base_name(artifact_path);
  // The sandbox compares what is mounted with the checked descriptor.
  inside.binds.push_back({artifact_path, inside.program_inside, sandbox::Access::read_only, false, true});
  inside.binds.push_back({plan.recorder, kRecorderInside, sandbox::Access::read_write, false, false});
  add_covers(inside, *config.agent, config.git_is_file);
  inside.argv.push_back(base_name(artifact_path));
  for (std::string_view argument : config.agent->arguments) inside.argv.emplace_back(argument);
  inside.argv.insert(inside.argv.end(), config.options.arguments.begin(), config.options.arguments.end());
  inside.environment = agent_environment(config.environment, *config.agent,
                                         {kHomeInside, kRecorderInside, kProgramsInside, config.workspace});
  inside.limits.memory = config.memory;
  inside.network = config.network;
  inside.connect_ports = config.ports;
  if (config.on_host) {
    inside.least_tier = sandbox::Tier::landlock;
    inside.binds.push_back({session_path + "/tmp", "/tmp", sandbox::Access::read_write, false, true});
  }
  inside.uid = config.identity.uid;
  inside.gid = config.identity.gid;
  inside.limits.control_groups = inside.uid == 0;  // no rlimit binds the kernel's root; else the first process counts
  inside.shown_uid = config.identity.shown_uid;
  inside.shown_gid = config.identity.shown_gid;
  inside.idmapped = config.identity.idmapped;
  return plan;
}

}  // namespace oncelatch::launcher
