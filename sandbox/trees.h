// Trees of mounts to bind, taken with the launcher's rights where it is root: root may open what the confined user
// can't, and owners can be mapped. The exec path attaches them. An unprivileged launcher takes none; its sources are
// opened again by name inside the new mount namespace, where the inode is compared.
//
//   TRY(take_trees(plan, entries, descriptors));
//
// Ownership: a tree takes the place of its source's descriptor; whoever closes the last copy of one that isn't attached
// takes it apart. Threads: one. Failure: Error whose object begins with "sources: " (the identity that was hoped for
// may not be had here). After fork: not used.
#pragma once

#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/plan.h"
#include "sandbox/view.h"

namespace oncelatch::sandbox {

[[nodiscard]] Status take_trees(const SandboxPlan& plan, std::vector<ViewEntry>& entries, std::vector<Fd>& descriptors);

}  // namespace oncelatch::sandbox
