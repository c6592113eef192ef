#include "sandbox/prepare.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "sandbox/host_view.h"
#include "sandbox/mounted_below.h"
#include "sandbox/plan_checks.h"
#include "sandbox/plan_writer.h"
#include "sandbox/trees.h"
#include "sandbox/view_builder.h"

namespace oncelatch::sandbox {

namespace {

PlanFields fields_of(const SandboxPlan& plan, const HostFacts& facts, const Planted& planted) {
  PlanFields fields;
  fields.landlock_abi = facts.landlock_abi;
  fields.processes = plan.limits.processes;
  fields.file_size = plan.limits.file_size;
  fields.open_files = plan.limits.open_files;
  fields.seconds = std::min(plan.limits.seconds, kMostSeconds);
  fields.working_directory = plan.working_directory.empty() ? plan.workspace : plan.working_directory;
  fields.program = plan.program_inside;
  fields.planted_directory = planted.directory();
  fields.planted_abstract = planted.abstract_name();
  fields.own_branch = plan.own_branch;
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

// A copy of the workspace's mount that was made without rights of the launcher's comes with all that is mounted below,
// and the kernel lays no overlay over that.
Status check_lower(const SandboxPlan& plan, const std::vector<ViewEntry>& entries) {
  const bool copied = std::any_of(entries.begin(), entries.end(), [](const ViewEntry& entry) {
    return entry.target == kOverlayLower && (entry.flags & kDetached) == 0;
  });
  if (!plan.overlay || !copied) return {};
  const std::string point = TRY(mounted_below(plan.workspace));
  if (point.empty()) return {};
  return fail_errno("sandbox", point, ENOTSUP,
                    "unmount it, name a directory without it (--workspace), or run without --workspace-mode overlay",
                    "a file system is mounted there, and the kernel lets only root lay an overlay over it");
}

}  // namespace

Status check_launch(const SandboxPlan& plan, const VerifiedArtifact& artifact, const HostFacts& facts) {
  if (facts.tier() == Tier::none || facts.tier() < plan.least_tier) return cannot_confine("this machine", facts);
  TRY(check_plan(plan));
  if (!plan.own_branch.git_directory.empty() && !(plan.guard && facts.can_guard()))
    return fail_errno("sandbox", "git: own-branch", ENOTSUP, "leave it out, or run where doctor says creation-listener",
                      "needs the workspace guard");
  return check_program(plan, artifact);
}

Result<PreparedSandbox> prepare(const SandboxPlan& plan, const VerifiedArtifact& artifact, const HostFacts& facts,
                                const Cgroup& group) {
  const bool on_host = facts.tier() == Tier::landlock;
  if (on_host && plan.overlay)
    return fail_errno("sandbox", plan.workspace, ENOTSUP, "run without --workspace-mode overlay",
                      "an overlay needs namespaces, which the Landlock tier doesn't have");
  if (on_host && plan.limits.memory_required && !group.limits_memory())
    return fail_errno("sandbox", "the memory limit", ENOTSUP, "leave it out, or run where a control group can be had",
                      "the Landlock tier counts no memory itself");
  std::optional<ViewBuilder> builder;
  std::optional<HostView> host;
  on_host ? (void)host.emplace(plan) : (void)builder.emplace(plan, plan.guard && facts.can_guard());
  TRY(on_host ? host->build() : builder->build());
  std::vector<ViewEntry> entries = TRY(on_host ? host->entries() : builder->entries());
  Sources& sources = on_host ? host->sources : builder->sources;
  std::vector<Fd> opened = sources.take();
  if (!on_host) TRY(take_trees(plan, entries, opened));
  TRY(check_lower(plan, entries));
  PreparedSandbox prepared;
  const std::string session = plan.home.substr(0, plan.home.empty() ? 0 : plan.home.rfind('/'));
  prepared.planted = TRY(Planted::make(plan.uid, plan.gid, session, on_host ? host->visible() : builder->visible()));
  PlanFields fields = fields_of(on_host ? host->plan() : plan, facts, *prepared.planted);
  fields.memory = group.limits_memory() ? 0 : plan.limits.memory;  // no second counting
  if (on_host) host->adjust(fields);
  fields.by_path = artifact.is_script();
  fields.sources = static_cast<std::uint32_t>(opened.size());
  prepared.sources = std::move(opened);
  fields.entries = std::move(entries);
  prepared.message = TRY(plan_in_memory(write_plan(fields)));
  return prepared;
}

}  // namespace oncelatch::sandbox
