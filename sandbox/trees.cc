#include "sandbox/trees.h"

#include <unistd.h>

#include <cerrno>

#include "sandbox/idmap.h"

namespace oncelatch::sandbox {

namespace {

Failure fault(const ViewEntry& entry, int error) {
  return fail_errno("sandbox", "sources: " + entry.target, error,
                    "check that the path exists, is no link and wasn't replaced meanwhile");
}

// The object's owner becomes the user of the plan: 0 or an errno. What must be writable, also through an overlay, is
// mapped or the launch fails; what is read may do without.
int map_owner(const SandboxPlan& plan, OwnerMapping& mapping, int tree, const ViewEntry& entry) {
  Owner owner;
  if (int error = owner_of(tree, owner); error != 0) return error;
  if (!mapping.is_of(owner))
    if (int error = mapping.make(owner, {plan.uid, plan.gid}); error != 0) return error;
  const int error = mapping.apply(tree, true);
  const bool needed = (entry.flags & kReadOnly) == 0 || entry.target == kOverlayLower;
  if (error == 0 || needed) return error;
  (void)mapping.apply(tree, false);
  return 0;
}

}  // namespace

Status take_trees(const SandboxPlan& plan, std::vector<ViewEntry>& entries, std::vector<Fd>& descriptors) {
  if (::geteuid() != 0) return {};
  OwnerMapping mapping;  // of the source that came last: most have one owner
  bool any = plan.idmapped;
  for (ViewEntry& entry : entries) {
    if (entry.kind != EntryKind::bind || entry.source < 0) continue;
    Fd& place = descriptors[static_cast<std::size_t>(entry.source)];
    Fd tree = detached_tree(place.get());
    if (!tree && errno == EPERM && !any) return {};  // root without CAP_SYS_ADMIN
    if (!tree) return fault(entry, errno);
    if (int error = plan.idmapped && entry.map_owner ? map_owner(plan, mapping, tree.get(), entry) : 0; error != 0)
      return fault(entry, error);
    place = std::move(tree);
    entry.flags |= kDetached;
    any = true;
  }
  return {};
}

}  // namespace oncelatch::sandbox
