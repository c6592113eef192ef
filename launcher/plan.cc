#include "launcher/plan.h"

#include <utility>

#include "launcher/environment.h"
#include "launcher/exec/cover_path.h"

namespace oncelatch::launcher {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void add_covers(sandbox::SandboxPlan& plan, const LaunchConfig& config) {
  for (std::string_view hidden : config.agent->hidden)
    for (sandbox::Cover& cover :
         cover_path(plan.workspace, std::string(hidden), sandbox::Cover::Kind::hide, {plan.workspace}))
      plan.covers.push_back(std::move(cover));
  plan.covers.insert(plan.covers.end(), config.git_covers.begin(), config.git_covers.end());
}

// As exec does (launcher/exec/plan.cc).
void add_repository(sandbox::SandboxPlan& plan, const Repository& repository) {
  if (!repository.root.empty()) plan.binds.push_back({.source = repository.root, .target = repository.root});
  for (sandbox::Bind& bind : repository_binds(repository)) plan.binds.push_back(std::move(bind));
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
  add_repository(inside, config.repository);
  add_covers(inside, config);
  inside.argv.push_back(base_name(artifact_path));
  for (std::string_view argument : config.agent->arguments) inside.argv.emplace_back(argument);
  inside.argv.insert(inside.argv.end(), config.options.arguments.begin(), config.options.arguments.end());
  inside.environment = agent_environment(config.environment, *config.agent,
                                         {kHomeInside, kRecorderInside, kProgramsInside, config.workspace});
  inside.limits.memory = config.memory;
  inside.network = config.network;
  inside.connect_ports = config.ports;
  inside.held = sandbox::HeldNames::ask;
  inside.own_branch = config.own_branch;
  inside.new_worktrees = config.new_worktrees;
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
