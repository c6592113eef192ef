// What a set of changes holds, compared with the workspace as it is now: the upper layer of an overlayfs, read by
// descriptors, where every name, mode, size and kind of object is the agent's.
//
//   ChangeList list = TRY(list_changes(set));
//   for (const Change& change : list.changes) show(change.path, change.what);
//
// What equals the workspace is no change, and what was promoted is listed no more. Ownership: values. Threads: one.
// Failure: Error of stage "changes". Bounds: a million entries, 64 MiB of names; beyond them `complete` is false. A
// directory of the layer that its owner may not read is made readable. After fork: not used.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/after_run.h"
#include "launcher/change_set.h"

namespace oncelatch::launcher {

struct Change {
  enum class What { added, changed, removed };
  std::string path;  // relative to the workspace
  What what = What::added;
  mode_t was = 0;         // in the workspace, 0: nothing
  mode_t mode = 0;        // as it would be there, 0: nothing
  off_t size = 0;         // of what would be there
  HostVerdict verdict;    // of its name and kind
  std::string unfit;      // why it can't be promoted whatever it's called; empty: it can
  bool conflict = false;  // the workspace's was changed, made or removed since the run began
};
inline constexpr const char* kChangeNames[] = {"added", "changed", "removed"};

struct ChangeList {
  // By path. A directory that goes is followed by all that lies in it; where a file takes its place, by that.
  std::vector<Change> changes;
  bool complete = true;
};

[[nodiscard]] Result<ChangeList> list_changes(const ChangeSet& set);
// Of ChangeSet::promoted(): before the path of a conflict that was told.
inline constexpr char kConflictKey = '!';
// Of ChangeSet::promoted().
[[nodiscard]] std::string key_of(const Change& change);

// A file of the upper layer, whatever its mode is; errno where there is none.
[[nodiscard]] Fd open_in_layer(int directory, const std::string& path, int flags);
[[nodiscard]] std::string link_target(int directory, const std::string& name);
[[nodiscard]] bool changed_since(const struct stat& found, std::int64_t started);
// The directory of a path and its last name.
[[nodiscard]] std::string directory_of(const std::string& path);
[[nodiscard]] std::string name_of(const std::string& path);

}  // namespace oncelatch::launcher
