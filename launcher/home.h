// The private home of one run: fresh, 0700, nothing of the real home linked or copied but git's name and e-mail.
//
//   TRY(make_home(session_fd, config, plan));   // <session>/home and <session>/record.jsonl
//
// Ownership: the session directory owns what is made and removes it. Threads: one. Failure: Error with the path; what
// was made is removed with the session. After fork: allocates and starts git.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/config.h"

namespace oncelatch::launcher {

// Makes home/ with the agent's empty skeleton and .gitconfig, owned by config.uid.
[[nodiscard]] Status make_home(int session, const LaunchConfig& config);
// Makes tmp/, the agent's /tmp where there is no mount of its own, owned by config.uid.
[[nodiscard]] Status make_temporary(int session, const LaunchConfig& config);
// Makes the recorder file, 0600, owned by config.uid, and opens it for reading.
[[nodiscard]] Result<Fd> make_recorder(int session, const LaunchConfig& config);
// ".gitconfig" with the caller's user.name and user.email (from the global configuration, never the repository's) and
// the workspace as a safe directory.
[[nodiscard]] std::string git_configuration(const LaunchConfig& config);

}  // namespace oncelatch::launcher
