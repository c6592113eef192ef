// The order of confinement (sandbox/enforce.cc). Every function is one stage, in the file named after the kernel's
// facility.
//
// Ownership: borrows the Context. Threads: one. Failure: Outcome. After fork: safe; freestanding.
#pragma once

#include "sandbox/context.h"

namespace oncelatch::sandbox {

struct Step {
  Stage stage;
  Outcome (*run)(Context&);
};

// Outside, as the launcher's user; ends as the process that waits for the first process inside.
[[noreturn]] void enforce(Context& context);

// descriptors.cc
Outcome close_unknown_descriptors(Context& context);
Outcome receive_beginning(Context& context);
Outcome receive_plan(Context& context);
void forget_message(Context& context);
// namespaces.cc
Outcome become_confined_user(Context& context);
Outcome make_namespaces(Context& context);
Outcome map_identity(Context& context);
Outcome hide_memory(Context& context);
Outcome name_host(Context& context);
Outcome raise_loopback(Context& context);
// mounts.cc
Outcome make_root(Context& context);
Outcome build_skeleton(Context& context);
Outcome mount_overlay(Context& context);  // overlay.cc
Outcome freeze_root(Context& context);
Outcome cover_workspace(Context& context);
Outcome pivot(Context& context);
// devices.cc, proc.cc
Outcome make_devices(Context& context);
Outcome mount_proc(Context& context);
Outcome seal_proc(Context& context);
// limits.cc
Outcome offer_to_oom_killer(Context& context);
Outcome limit_namespaces(Context& context);
Outcome limit_resources(Context& context);
// capabilities.cc
Outcome limit_capabilities(Context& context);
Outcome limit_capabilities_on_host(Context& context);
Outcome drop_capabilities(Context& context);
Outcome forbid_new_privileges(Context& context);
Outcome leave_key_ring(Context& context);
// landlock.cc, seccomp.cc
Outcome restrict_self(Context& context);
Outcome restrict_on_host(Context& context);
Outcome leave_making_to_broker(Context& context);
Outcome load_filter(Context& context);
Outcome load_broker_filter(Context& context);
Outcome load_guarded_filter(Context& context);
// pid_one.cc
[[noreturn]] void wait_outside(Context& context);
[[noreturn]] void be_first_process(Context& context, int program);
Outcome fork_program(Context& context, int& program);
Outcome start_session(Context& context);
Outcome execute_program(Context& context);
// on_host.cc: the Landlock tier
Outcome take_in_orphans(Context& context);
Outcome end_by_domain(Context& context);
Outcome fork_first_process(Context& context);
Outcome enter_working_directory(Context& context);
Outcome leave_first_process(Context& context);
// Ends; in the Landlock tier after everything that was started has ended.
[[noreturn]] void finish(int code);
// self_test.cc
Outcome test_kernel_alone(Context& context);
Outcome test_self(Context& context);

}  // namespace oncelatch::sandbox
