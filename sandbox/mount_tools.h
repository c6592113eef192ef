// The new mount calls (open_tree, mount_setattr, move_mount, fsopen) with the arguments this program uses.
//
//   long tree = clone_tree(fd, "", AT_EMPTY_PATH);
//   set_attributes(tree, MOUNT_ATTR_RDONLY, true);
//   attach(tree, AT_FDCWD, "usr");
//
// Ownership: a returned descriptor is the caller's. Threads: no state. Failure: -errno. After fork: safe; freestanding.
#pragma once

#include "sandbox/context.h"

namespace oncelatch::sandbox {

// In the new root, read-only from the start: what hidden objects are covered with.
inline constexpr char kEmptyDirectory[] = ".empty/directory";
inline constexpr char kEmptyFile[] = ".empty/file";

Outcome make_empty_objects();

// O_PATH, no symbolic link anywhere in the path; `more` are further RESOLVE_ flags.
long open_without_links(const char* path, std::uint64_t more);
// The same beneath `directory`.
long open_without_links(int directory, const char* path, std::uint64_t more);
// A detached copy of the mount at `path`, with everything mounted below it.
long clone_tree(int directory, const char* path, unsigned flags);
// The same for an O_PATH descriptor of another mount namespace: found again by name, without links, and only if it's
// the same inode (-ESTALE otherwise).
long clone_by_name(int descriptor);
long set_attributes(int mount, std::uint64_t attributes, bool recursive);
// Of the mount at `path` alone.
long set_attributes(const char* path, std::uint64_t attributes);
// With everything mounted below it; what is bound from a read-only mount is read-only.
long bind_path(const char* from, const char* onto);
// A mount of its own, of what the path holds: read-only, nothing in it is run.
long bind_read_only_itself(const char* path);
// An empty file to mount onto.
long make_mount_point(const char* path);
long attach(int mount, int directory, const char* path);
long new_tmpfs(const char* size, const char* mode);
Outcome mount_tmpfs(const char* path, std::uint64_t size, std::uint32_t mode);
// A fresh directory of the tmpfs `store`, mounted at `path`.
Outcome attach_temporary(int store, const char* path, std::uint32_t mode);

bool same_object(int descriptor, const char* path);
bool same_object(int descriptor, int other);

}  // namespace oncelatch::sandbox
