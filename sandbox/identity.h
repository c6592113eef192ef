// Who a sandbox runs as. A real root starts it under a kernel user that nobody else has, shown inside as the
// workspace's owner, with every source mounted so that its owner's files are that user's. Where the kernel or the
// filesystem doesn't give that (tried, not guessed) it is the workspace's owner, and only then root itself.
//
//   Identity identity = choose_identity("/home/u/project", {"/run/user/0/oncelatch/SESSION"});
//   plan.uid = identity.uid;               // and gid, shown_uid, shown_gid, idmapped
//   if (!identity.loss.empty()) warn(identity.loss);
//
// What the launcher makes for the sandbox (home, recorder): idmapped, it may belong to anybody, because the owner of
// each bound directory or file is mapped by itself; everything inside one must have that owner. Otherwise it must
// belong to `uid`.
//
// Ownership: values. Threads: any. Failure: none; what can't be had leads to the next choice, and `loss` names what is
// given up. After fork: forks helpers itself; not for a child.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace oncelatch::sandbox {

struct Identity {
  uid_t uid = 0;  // kernel user
  gid_t gid = 0;
  uid_t shown_uid = 0;  // what the processes see
  gid_t shown_gid = 0;
  bool idmapped = false;
  std::string loss;  // what this choice gives up, a sentence; empty: nothing
};

// How a real root's identity is found.
enum class IdentityChoice {
  hoped,    // the mapped one, untried: entering fails at the stage "sources" or "identity" where it can't be had
  proven,   // each is tried
  on_host,  // for a tier without mounts of its own, so never mapped
};

// `workspace` and the paths of `writable` exist and will be mounted writable (a directory on the same filesystem does
// for what isn't made yet). Anybody but root stays who they are.
[[nodiscard]] Identity choose_identity(const std::string& workspace, const std::vector<std::string>& writable = {},
                                       IdentityChoice choice = IdentityChoice::proven);

}  // namespace oncelatch::sandbox
