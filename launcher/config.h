// From the command line to a checked configuration: the agent, the workspace by its real path, the loaded policy.
//
//   LaunchConfig config = TRY(resolve_config(options, caller_environment()));
//
// Ownership: a value. Threads: any. Failure: Error whose stage names the part ("workspace", "policy", "agent"); nothing
// was started or written. After fork: allocates.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/agents.h"
#include "launcher/exec/repository.h"
#include "launcher/options.h"
#include "policy/rules.h"
#include "sandbox/identity.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {

struct LaunchConfig {
  const AgentProfile* agent = nullptr;
  RunOptions options;
  std::string workspace;  // absolute real path
  std::string real_home;  // the caller's home, real path; empty when unknown
  std::string program;    // the agent's program file as named or found in PATH
  policy::Rules rules;
  std::vector<std::string> environment;    // the caller's
  Repository repository;                   // where the workspace's lies outside of it
  std::vector<sandbox::Cover> git_covers;  // over what git outside would run or follow, and other branches
  bool new_worktrees = true;               // git may add them inside
  sandbox::OwnBranch own_branch;           // the one that may move, where no other may
  sandbox::Network network = sandbox::Network::ports;
  std::vector<std::uint16_t> ports;
  std::uint64_t memory = 0;    // bytes of all processes inside together; 0: not limited
  bool on_host = false;        // the Landlock tier: no mounts of its own
  sandbox::Identity identity;  // whom the confined processes run as
  uid_t uid = 0;               // owner of what is made for them: the home, the recorder
  gid_t gid = 0;
};

// Refuses a workspace that holds `path` (a file or directory of ours, existing or not yet), where the agent could
// change it.
[[nodiscard]] Status check_outside_workspace(const LaunchConfig& config, const std::string& path,
                                             const std::string& what, const std::string& try_next);

// Chooses identity, uid and gid for the tier.
[[nodiscard]] Status set_identity(LaunchConfig& config, sandbox::IdentityChoice choice);

[[nodiscard]] Result<LaunchConfig> resolve_config(const RunOptions& options, std::vector<std::string> environment);

}  // namespace oncelatch::launcher
