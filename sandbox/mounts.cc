// mount_namespaces(7), pivot_root(2): a root of our own, filled with what the plan names. Built by descriptor and by
// relative path from the new root, so it needs no directory on the host. Descriptors of mounts are left to close_range
// and exec.
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>

#include "sandbox/enforce.h"
#include "sandbox/mount_tools.h"
#include "sandbox/overlay.h"
#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

constexpr int kDetach = 2;  // MNT_DETACH

Outcome make_file(const Entry& entry) {
  long fd = sys::call(__NR_openat, AT_FDCWD, inside(entry.target), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, entry.mode);
  if (fd < 0) return failed(fd, entry.target.data);
  long rc = entry.text.size == 0 ? 0 : sys::call(__NR_write, fd, entry.text.data, entry.text.size);
  if (rc >= 0 && rc != static_cast<long>(entry.text.size)) rc = -ENOSPC;
  sys::close(static_cast<int>(fd));
  if (rc < 0) return failed(rc, entry.target.data);
  return {};
}

Outcome make_directory(const Entry& entry) {
  if (long rc = sys::call(__NR_mkdirat, AT_FDCWD, inside(entry.target), entry.mode); rc < 0)
    return failed(rc, entry.target.data);
  return {};
}

Outcome make_link(const Entry& entry) {
  long rc = sys::call(__NR_symlinkat, entry.text.data, AT_FDCWD, inside(entry.target));
  if (rc < 0) return failed(rc, entry.target.data);
  return {};
}

}  // namespace

Outcome make_target(const Entry& entry) {
  if ((entry.flags & kCreateTarget) == 0) return {};
  long rc = 0;
  if ((entry.flags & kIsDirectory) != 0) {
    rc = sys::call(__NR_mkdirat, AT_FDCWD, inside(entry.target), 0755);
    if (rc == -EEXIST) rc = 0;
  } else {
    rc = make_mount_point(inside(entry.target));
  }
  if (rc < 0) return failed(rc, entry.target.data);
  return {};
}

// A target that isn't ours lies in another mount, whose links must not lead elsewhere.
long attach_to_target(int tree, const Entry& entry) {
  if ((entry.flags & kCreateTarget) != 0) return attach(tree, AT_FDCWD, inside(entry.target));
  long target = open_without_links(inside(entry.target), RESOLVE_BENEATH);
  if (target < 0) return target;
  return attach(tree, static_cast<int>(target), "");
}

namespace {

// The tree to mount: taken by the launcher, or found again by the descriptor's name (and then the same inode).
long take_tree(const Context& context, const Entry& entry) {
  const int source = context.sources[entry.source];
  return (entry.flags & kDetached) != 0 ? source : clone_by_name(source);
}

mount_attr attributes_of(const Entry& entry) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if ((entry.flags & kReadOnly) != 0) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  if ((entry.flags & kNoExecute) != 0) attributes.attr_set |= MOUNT_ATTR_NOEXEC;
  return attributes;
}

// Of the skeleton: paths that only root can change. One lock and one mount less than by descriptor.
long bind_by_path(const Entry& entry) {
  const char* target = inside(entry.target);
  if (long rc = bind_path(entry.text.data, target); rc < 0) return rc;
  mount_attr attributes = attributes_of(entry);
  return sys::call(__NR_mount_setattr, AT_FDCWD, target, AT_RECURSIVE | AT_SYMLINK_NOFOLLOW, &attributes,
                   sizeof attributes);
}

long bind_source(const Context& context, const Entry& entry) {
  long tree = take_tree(context, entry);
  if (tree < 0) return tree;
  int fd = static_cast<int>(tree);
  long rc = set_attributes(fd, attributes_of(entry).attr_set, true);
  if (rc >= 0) rc = attach_to_target(fd, entry);
  if (rc >= 0 && !same_object(context.sources[entry.source], inside(entry.target))) rc = -ESTALE;
  return rc;
}

Outcome mount_bind(const Context& context, const Entry& entry) {
  if (Outcome outcome = make_target(entry); outcome.error != 0) return outcome;
  long rc = entry.source < 0 ? bind_by_path(entry) : bind_source(context, entry);
  if (rc < 0) return failed(rc, entry.target.data);
  return {};
}

Outcome mount_temporary(const Context& context, const Entry& entry) {
  if (Outcome outcome = make_target(entry); outcome.error != 0) return outcome;
  return attach_temporary(context.temporary, inside(entry.target), entry.mode);
}

Outcome build_entry(const Context& context, const Entry& entry) {
  switch (entry.kind) {
    case EntryKind::directory:
      return make_directory(entry);
    case EntryKind::file:
      return make_file(entry);
    case EntryKind::link:
      return make_link(entry);
    case EntryKind::bind:
      return mount_bind(context, entry);
    case EntryKind::temporary:
      return mount_temporary(context, entry);
    case EntryKind::overlay:
      break;  // mount_overlay
    case EntryKind::pin:
    case EntryKind::protect:
    case EntryKind::hide:
      break;  // cover_workspace
  }
  return {};
}

// Below an overlay inodes have other numbers: what was planned is what lies there in the directory below it.
bool is_planned(const Context& context, const Entry& entry, int target) {
  const int source = context.sources[entry.source];
  const char* relative = below_overlay(context, entry);
  if (relative == nullptr) return same_object(source, target);
  const long lower = open_without_links(context.lower, relative, RESOLVE_BENEATH);
  const bool same = lower >= 0 && same_object(source, static_cast<int>(lower));
  if (lower >= 0) sys::close(static_cast<int>(lower));
  return same;
}

// What a mounted tree holds is bound over itself, opened without following a link and checked to be the inode that was
// planned.
Outcome cover(const Context& context, const Entry& entry) {
  long opened = open_without_links(inside(entry.target), RESOLVE_BENEATH);
  if (opened < 0) return failed(opened, entry.target.data);
  int target = static_cast<int>(opened);
  bool empty = entry.kind == EntryKind::hide;
  const char* nothing = (entry.flags & kIsDirectory) != 0 ? kEmptyDirectory : kEmptyFile;
  long tree = -ESTALE;
  if (is_planned(context, entry, target))
    tree = empty ? clone_tree(AT_FDCWD, nothing, 0) : clone_tree(target, "", AT_EMPTY_PATH);
  long rc = tree;
  if (rc >= 0 && entry.kind != EntryKind::pin) rc = set_attributes(static_cast<int>(tree), MOUNT_ATTR_RDONLY, true);
  if (rc >= 0) rc = attach(static_cast<int>(tree), target, "");
  if (rc < 0) return failed(rc, entry.target.data);
  return {};
}

}  // namespace

Outcome make_root(Context& context) {
  if (long rc = sys::call(__NR_mount, nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr); rc < 0)
    return failed(rc, "make / private");
  long tmpfs = new_tmpfs("4m", "0755");
  if (tmpfs < 0) return failed(tmpfs, "tmpfs");
  context.root = static_cast<int>(tmpfs);
  if (long rc = attach(context.root, AT_FDCWD, "/"); rc < 0) return failed(rc, "tmpfs over /");
  if (long rc = sys::call(__NR_fchdir, context.root); rc < 0) return failed(rc, "fchdir");
  context.umask = static_cast<unsigned>(sys::call(__NR_umask, 0));
  return make_empty_objects();
}

Outcome build_skeleton(Context& context) {
  for (std::uint32_t i = 0; i < context.plan->entry_count; ++i) {
    Outcome outcome = build_entry(context, context.plan->entries[i]);
    if (outcome.error != 0) return outcome;
  }
  return {};
}

// From here on every bind of something in the new root is read-only too.
Outcome freeze_root(Context& context) {
  if (long rc = set_attributes(context.root, MOUNT_ATTR_RDONLY, false); rc < 0) return failed(rc, "read-only root");
  return {};
}

Outcome cover_workspace(Context& context) {
  for (std::uint32_t i = 0; i < context.plan->entry_count; ++i) {
    const Entry& entry = context.plan->entries[i];
    if (!is_cover(entry.kind)) continue;
    if (Outcome outcome = cover(context, entry); outcome.error != 0) return outcome;
  }
  return {};
}

Outcome pivot(Context& context) {
  if (long rc = sys::call(__NR_fchdir, context.root); rc < 0) return failed(rc, "fchdir");
  if (long rc = sys::call(__NR_pivot_root, ".", "."); rc < 0) return failed(rc, "pivot_root");
  if (long rc = sys::call(__NR_umount2, ".", kDetach); rc < 0) return failed(rc, "umount of the old root");
  if (long rc = sys::call(__NR_chdir, "/"); rc < 0) return failed(rc, "/");
  const Text& directory = context.plan->working_directory;
  if (long rc = sys::call(__NR_chdir, directory.data); rc < 0) return failed(rc, directory.data);
  sys::call(__NR_umask, context.umask);
  return {};
}

}  // namespace oncelatch::sandbox
