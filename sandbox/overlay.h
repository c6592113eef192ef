// The workspace under an overlay: what the program changes goes into layers of its own, and what lies below is never
// written. A mount of overlayfs(5) in our user namespace.
//
//   if (Outcome outcome = mount_overlay(context); outcome.error != 0) return outcome;
//   const char* relative = below_overlay(context, entry);   // "src/a.c", null outside
//
// Ownership: borrows the Context; its `lower` is left to exec. Threads: one. Failure: Outcome. After fork: safe;
// freestanding.
#pragma once

#include "sandbox/context.h"

namespace oncelatch::sandbox {

// Of sandbox/mounts.cc.
Outcome make_target(const Entry& entry);
long attach_to_target(int tree, const Entry& entry);

// The path in the directory below, of an entry that lies in the overlay's target.
const char* below_overlay(const Context& context, const Entry& entry);

}  // namespace oncelatch::sandbox
