// The supervisor of one session: parent of everything that runs for it, and its only event loop.
//
//   int code = supervise(std::move(session), std::move(config), std::move(artifact), std::move(channel));
//
// Runs in the forked child of the front end and returns the exit code of the whole run. Ownership: takes the session
// directory, the verified program and its end of the channel. Threads: one. Failure: a set-up that fails is told by a
// `failed` message; in every case the confined processes, tmux and the directory are gone when it returns. Order of
// things: docs/ARCHITECTURE.md.
#pragma once

#include "base/artifact.h"
#include "base/json.h"
#include "launcher/aftermath.h"
#include "launcher/channel.h"
#include "launcher/config.h"
#include "launcher/report.h"
#include "launcher/session_directory.h"
#include "sandbox/host_facts.h"

namespace oncelatch::launcher {

struct SupervisorSetup {
  LaunchConfig config;
  SessionDirectory session;
  VerifiedArtifact artifact;
  sandbox::HostFacts facts;
  Channel front_end;
  ReportFile report;  // opened before the agent could change the way to it; may be nowhere
  ReportFile sarif;   // the same
  Aftermath aftermath;
  Fd worktree;        // lock of the worktree that the session works in; may be none
  int columns = 120;  // of the pane before anybody attaches
  int rows = 40;
};

[[nodiscard]] int supervise(SupervisorSetup setup);

// $XDG_STATE_HOME/oncelatch/audit.db, default ~/.local/state/oncelatch/audit.db.
[[nodiscard]] Result<std::string> audit_path(const std::vector<std::string>& environment);

}  // namespace oncelatch::launcher
