// Promotes changes into the workspace, which is noted in the set: one object after another, each whole or not at all: a
// temporary name beside it, then a rename that must find what was looked at. Whatever can't be promoted stays in the
// set, and is told.
//
//   std::vector<NotPromoted> left = TRY(apply_changes(set, chosen));
//
// Names that the workspace guard refuses to an agent are refused here, by the same rules (sandbox/guard_rules.h);
// pipes, sockets and devices as well. Nothing of the workspace that changed since the run began is touched. Modes lose
// set-id and sticky bits; as root the owner is that of what is replaced, else of the directory. Ownership: none.
// Threads: one. Failure: Error where nothing could be begun. After fork: not used.
#pragma once

#include <string>
#include <vector>

#include "launcher/change_list.h"

namespace oncelatch::launcher {

struct NotPromoted {
  Change change;
  std::string why;
};

// `chosen` of list_changes(), in its order.
[[nodiscard]] Result<std::vector<NotPromoted>> apply_changes(const ChangeSet& set, const std::vector<Change>& chosen);

}  // namespace oncelatch::launcher
