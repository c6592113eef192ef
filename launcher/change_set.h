// What a run under an overlay changed, kept apart from the workspace until a person promotes it: the directory
// $XDG_STATE_HOME/oncelatch/changes/ID (default ~/.local/state), 0700, whose lock the run holds.
//
//   ChangeSets all = TRY(ChangeSets::open(environment));
//   ChangeSet set = TRY(all.create("/home/u/project"));       // held until the value goes
//   TRY(set.give_layers(plan.uid, plan.gid));
//   plan.overlay = set.layers();
//   …the run…
//   if (set.is_empty()) TRY(set.remove());
//
// What lies in layers/upper is the agent's own: names, modes, links, devices; it is only ever reached by descriptors.
// Ownership: holds its directory and lock open. Threads: one. Failure: Error of stage "changes". Layout: lock
// workspace started promoted layers/upper layers/work. After fork: not used. Part of the light program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::launcher {

class ChangeSet {
 public:
  [[nodiscard]] const std::string& id() const { return id_; }
  // Empty where the set isn't whole.
  [[nodiscard]] const std::string& workspace() const { return workspace_; }
  // From then on: nothing of the workspace that is older was changed since (CLOCK_REALTIME, ns).
  [[nodiscard]] std::int64_t started() const { return started_; }
  [[nodiscard]] std::string layers() const { return path_ + "/layers"; }
  // Both layers belong to who works in them.
  [[nodiscard]] Status give_layers(uid_t uid, gid_t gid) const;
  [[nodiscard]] Result<Fd> open_upper() const;
  // The very directory that the run worked on, or an Error.
  [[nodiscard]] Result<Fd> open_workspace() const;
  // Keys of what was promoted already; what the workspace becomes later is no change of the set. And of conflicts.
  [[nodiscard]] std::set<std::string> promoted() const;
  [[nodiscard]] Status add_promoted(const std::vector<std::string>& keys) const;
  [[nodiscard]] bool is_empty() const;
  // Whatever lies in it, without following a link.
  [[nodiscard]] Status remove();

 private:
  friend class ChangeSets;
  [[nodiscard]] Status fill(const std::string& workspace);
  [[nodiscard]] Status read();

  std::string id_;
  std::string path_;
  std::string workspace_;
  std::int64_t started_ = 0;
  dev_t device_ = 0;  // of the workspace
  ino_t inode_ = 0;
  Fd parent_;
  Fd directory_;
  Fd lock_;
};

class ChangeSets {
 public:
  [[nodiscard]] static Result<ChangeSets> open(const std::vector<std::string>& environment);
  [[nodiscard]] const std::string& path() const { return path_; }
  // Locked; its layers are empty.
  [[nodiscard]] Result<ChangeSet> create(const std::string& workspace) const;
  // By its whole id. With `lock`, EBUSY where a run or another command works on it.
  [[nodiscard]] Result<ChangeSet> find(const std::string& id, bool lock) const;
  // Oldest first.
  [[nodiscard]] std::vector<std::string> ids() const;
  // Whether a run or another command works on it.
  [[nodiscard]] bool is_busy(const std::string& id) const;

 private:
  std::string path_;
  Fd directory_;
};

}  // namespace oncelatch::launcher
