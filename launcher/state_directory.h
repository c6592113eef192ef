// The caller's own state: $XDG_STATE_HOME/oncelatch, default ~/.local/state/oncelatch, and private directories in it.
//
//   StateDirectory changes = TRY(open_state_directory(environment, "changes"));     // made 0700 where it isn't there
//
// Ownership: owns its descriptor. Threads: one. Failure: Error naming the path; a directory that isn't the caller's
// alone is refused. After fork: not used. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::launcher {

struct StateDirectory {
  Fd directory;
  std::string path;
};
[[nodiscard]] Result<StateDirectory> open_state_directory(const std::vector<std::string>& environment,
                                                          const std::string& name);

}  // namespace oncelatch::launcher
