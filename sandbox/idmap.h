// Mounts whose files belong to another user inside than on disk (mount_setattr(2), MOUNT_ATTR_IDMAP).
//
//   Owner owner = …;
//   OwnerMapping mapping;
//   int error = mapping.make(owner, {plan.uid, plan.gid});   // needs root's rights
//   error = mapping.apply(tree, true);                       // `tree`: detached, not mapped yet
//
// Ownership: owns the user namespace and the child that it was made with, which shares this process's memory without
// running in it, sends no SIGCHLD and is reaped by the destructor. Threads: one. Failure: an errno, 0: done. After
// fork: the child must not destroy it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "base/fd.h"

namespace oncelatch::sandbox {

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
  struct Holder;

  OwnerMapping();
  OwnerMapping(OwnerMapping&& other) noexcept;
  ~OwnerMapping();

  [[nodiscard]] int make(Owner on_disk, Owner inside);
  [[nodiscard]] bool is_of(Owner on_disk) const { return space_ && on_disk_ == on_disk; }
  [[nodiscard]] int apply(int tree, bool recursive) const;

 private:
  void end_child();
  Owner on_disk_;
  Fd space_;
  std::unique_ptr<Holder> holder_;  // the child's stack
  Fd lifeline_;                     // the child lives as long as this is open
  pid_t child_ = -1;
};

}  // namespace oncelatch::sandbox
