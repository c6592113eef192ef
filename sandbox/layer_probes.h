// Probes that name one layer each, so that a layer that isn't there is found although another one still refuses. Part
// of the self-test (sandbox/self_test.cc).
//
//   long rc = probe_seccomp(context);   // -EPERM: the layer is there; 0: it isn't
//
// Ownership: borrows the Context. Threads: one. Failure: the value. After fork: safe; freestanding.
#pragma once

#include "sandbox/context.h"

namespace oncelatch::sandbox {

// Before Landlock: a listening socket outside the domain, for the probe of its scopes. Full tier only.
Outcome plant_scope_target(Context& context);

long probe_mount_namespace(const Context& context);
long probe_pid_namespace(const Context& context);
long probe_network_namespace(const Context& context);
long probe_user_namespace_limit(const Context& context);
long probe_capabilities(const Context& context);       // every set
long probe_held_capabilities(const Context& context);  // all but the bounding set
long probe_no_new_privileges(const Context& context);
long probe_landlock(const Context& context);
long probe_landlock_on_host(const Context& context);
long probe_landlock_scope(const Context& context);
long probe_landlock_scope_on_host(const Context& context);
long probe_seccomp(const Context& context);
long probe_first_process_hidden(const Context& context);

// AF_UNIX stream to the planted abstract socket: what the kernel said.
long connect_planted_abstract(const Context& context);

}  // namespace oncelatch::sandbox
