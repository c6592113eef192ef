// Mounts whose files belong to another user inside than on disk (mount_setattr(2), MOUNT_ATTR_IDMAP).
//
//   Owner owner;
//   owner_of(source, owner);
//   long mapping = mapping_namespace(owner, {plan.uid, plan.gid});   // needs root's rights
//   map_mount(tree, mapping, true);                                 // `tree`: detached, not mapped yet
//
// Ownership: a returned descriptor is the caller's. Threads: no state; the helper child is waited for and sends no
// SIGCHLD. Failure: -errno. After fork: safe; freestanding, part of oncelatch-exec and of the room.
#pragma once

#include <cstdint>

namespace oncelatch::sandbox {

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool operator==(const Owner& other) const { return uid == other.uid && gid == other.gid; }
};

long owner_of(int descriptor, Owner& owner);

// A user namespace that turns `on_disk` into the kernel user `inside` and back. Every other id stays itself, but the
// host's root: what is root's in somebody else's tree can be read by its mode and never written.
long mapping_namespace(Owner on_disk, Owner inside);

long map_mount(int tree, int mapping, bool recursive);

}  // namespace oncelatch::sandbox
