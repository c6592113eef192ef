// Mounts of the host taken out of it, and such whose files belong to another user inside than on disk (open_tree(2),
// mount_setattr(2) with MOUNT_ATTR_IDMAP).
//
//   Fd tree = detached_tree(source);
//   OwnerMapping mapping;
//   int error = mapping.make(owner, {plan.uid, plan.gid});   // needs root's rights
//   error = mapping.apply(tree.get(), true);
//
// Ownership: owns the user namespace; the child that it is made with has ended when make() returns. Threads: one.
// Failure: an errno, 0: done. After fork: not used.
#pragma once

#include <cstdint>

#include "base/fd.h"

namespace oncelatch::sandbox {

// A copy of the mount that holds the object, from the object down, with everything mounted below. It is nobody's peer:
// what is mounted on it later doesn't appear on the host, also where the host's mounts are shared (systemd's default).
// Empty: errno tells.
[[nodiscard]] Fd detached_tree(int source);

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool operator==(const Owner& other) const { return uid == other.uid && gid == other.gid; }
};

// Of the object behind a descriptor.
[[nodiscard]] int owner_of(int descriptor, Owner& owner);

// A user namespace that turns `on_disk` into the kernel user `inside` and back. Every other id stays itself, but the
// host's root: what is root's in somebody else's tree can be read by its mode and never written.
class OwnerMapping {
 public:
  [[nodiscard]] int make(Owner on_disk, Owner inside);
  [[nodiscard]] bool is_of(Owner on_disk) const { return space_ && on_disk_ == on_disk; }
  [[nodiscard]] int apply(int tree, bool recursive) const;

 private:
  Owner on_disk_;
  Fd space_;
};

}  // namespace oncelatch::sandbox
