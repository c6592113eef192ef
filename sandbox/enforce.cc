// The order of confinement, on one screen.
#include "sandbox/enforce.h"

#include "sandbox/layer_probes.h"
#include "sandbox/test_hook.h"

namespace oncelatch::sandbox {

namespace {

// In the process the launcher started, on the host.
constexpr Step kStart[] = {
    {Stage::descriptors, close_unknown_descriptors},
    {Stage::plan, receive_beginning},
};

constexpr Step kOutside[] = {
    {Stage::identity, become_confined_user}, {Stage::namespaces, make_namespaces},  // returns in both processes
};

// In the first process of the new namespaces. What needs no plan comes first: the launcher still writes it. Mounts come
// before Landlock, which forbids them; capabilities go before the filter, whose denials then need none.
constexpr Step kInside[] = {
    {Stage::identity_maps, map_identity},
    {Stage::limits, offer_to_oom_killer},  // while its own files in /proc are still its own
    {Stage::non_dumpable, hide_memory},
    {Stage::root, make_root},
    {Stage::devices, make_devices},
    {Stage::proc, mount_proc},
    {Stage::host_name, name_host},
    {Stage::loopback, raise_loopback},
    {Stage::namespace_limits, limit_namespaces},  // user.max_user_namespaces = 0, kernel.pid_max
    {Stage::seal_proc, seal_proc},                // after the sysctls were written
    {Stage::capabilities, limit_capabilities},    // none can be had again
    {Stage::no_new_privileges, forbid_new_privileges},
    {Stage::session, leave_key_ring},
    {Stage::landlock, plant_scope_target},
    {Stage::plan, receive_plan},
    {Stage::skeleton, build_skeleton},  // usr, etc by list, home, workspace, the plan's binds
    {Stage::overlay, mount_overlay},    // over the workspace, where its changes are kept apart
    {Stage::root, freeze_root},         // what is bound from it from here on is read-only too
    {Stage::covers, cover_workspace},
    {Stage::pivot, pivot},  // old root detached
    {Stage::limits, limit_resources},
    {Stage::capabilities, drop_capabilities},
    {Stage::landlock, restrict_self},
};

// Where nobody guards the workspace, the first process and the program have the same filter.
constexpr Step kInsideUnguarded[] = {
    {Stage::seccomp, load_filter},
};

// The Landlock tier: the same processes on the host's own root, without namespaces and mounts. Only what the plan names
// can be opened; the filter holds what a namespace would.
constexpr Step kOutsideOnHost[] = {
    {Stage::identity, become_confined_user},
    {Stage::first_process, take_in_orphans},
    {Stage::first_process, fork_first_process},  // returns in both processes
};

constexpr Step kInsideOnHost[] = {
    {Stage::first_process, take_in_orphans},
    {Stage::limits, offer_to_oom_killer},
    {Stage::non_dumpable, hide_memory},
    {Stage::plan, receive_plan},
    {Stage::working_directory, enter_working_directory},
    {Stage::limits, limit_resources},
    {Stage::capabilities, limit_capabilities_on_host},
    {Stage::capabilities, drop_capabilities},
    {Stage::no_new_privileges, forbid_new_privileges},
    {Stage::session, leave_key_ring},
    {Stage::landlock, restrict_on_host},
    {Stage::landlock, end_by_domain},
    {Stage::seccomp, load_filter},
};

constexpr Step kProgramOnHost[] = {
    {Stage::session, start_session},
    {Stage::landlock, leave_first_process},
    {Stage::self_test, test_self},
    {Stage::exec, execute_program},
};

// In the program's process, which has inherited all of it.
constexpr Step kProgram[] = {
    {Stage::session, start_session},
    {Stage::self_test, test_self},
    {Stage::exec, execute_program},
};

// With the workspace guard: what makes and writes there is left to the first process.
constexpr Step kProgramGuarded[] = {
    {Stage::session, start_session},       {Stage::guard, leave_making_to_broker},
    {Stage::self_test, test_kernel_alone},  // which a call that the broker gets would not reach
    {Stage::seccomp, load_guarded_filter}, {Stage::self_test, test_self},
    {Stage::exec, execute_program},
};

template <unsigned Count>
void run(const Step (&steps)[Count], Context& context) {
  for (const Step& step : steps) {
    Outcome outcome;
    if (!replaced_by_test(context, step, outcome)) outcome = step.run(context);
    if (outcome.error != 0) give_up(step.stage, outcome);
  }
}

}  // namespace

void enforce(Context& context) {
  run(kStart, context);
  const bool on_host = has(*context.plan, kPlanLandlockTier);
  on_host ? run(kOutsideOnHost, context) : run(kOutside, context);
  if (context.inside_pid != 0) wait_outside(context);
  on_host ? run(kInsideOnHost, context) : run(kInside, context);
  const bool guarded = has(*context.plan, kPlanGuard);
  if (!on_host && !guarded) run(kInsideUnguarded, context);
  int program = 0;
  if (Outcome outcome = fork_program(context, program); outcome.error != 0) give_up(Stage::first_process, outcome);
  if (program != 0) be_first_process(context, program);
  on_host ? run(kProgramOnHost, context) : guarded ? run(kProgramGuarded, context) : run(kProgram, context);
  sys::exit(kExitFault);
}

}  // namespace oncelatch::sandbox
