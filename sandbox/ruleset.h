// One Landlock ruleset by raw system calls: rights are masked to what the ABI knows, so one table serves all kernels.
//
//   Ruleset ruleset;
//   if (long rc = ruleset.create(abi); rc < 0) return failed(rc, "create_ruleset");
//   ruleset.allow("/usr", landlock::kReadFile | landlock::kReadDir | landlock::kExecute);
//   ruleset.enter();
//
// Ownership: the descriptor until enter(); descriptors of paths are left to close_range and exec. Threads: one; enter()
// restricts the calling thread. Failure: -errno. After fork: safe; freestanding. Source: landlock(7).
#pragma once

#include <linux/fcntl.h>

#include "sandbox/landlock_abi.h"
#include "sandbox/syscall.h"

namespace oncelatch::sandbox {

class Ruleset {
 public:
  // All rights of the ABI are handled; `network` and `scopes` narrow those two sets.
  long create(int abi, std::uint64_t network = ~0ULL, std::uint64_t scopes = ~0ULL) {
    known_ = landlock::known_file_rights(abi);
    landlock::RulesetAttribute attribute{known_, landlock::known_net_rights(abi) & network,
                                         landlock::known_scopes(abi) & scopes};
    long fd = sys::call(__NR_landlock_create_ruleset, &attribute, sizeof attribute, 0);
    fd_ = static_cast<int>(fd);
    return fd;
  }
  // A domain of its own with nothing to allow: scopes, and the device nodes that nobody is given.
  long create_nested(int abi) {
    known_ = landlock::kMakeBlock;
    landlock::RulesetAttribute attribute{known_, 0, landlock::known_scopes(abi)};
    long fd = sys::call(__NR_landlock_create_ruleset, &attribute, sizeof attribute, 0);
    fd_ = static_cast<int>(fd);
    return fd;
  }
  // Only these rights are handled; everything else is left to the domains above.
  long create_for(std::uint64_t rights) {
    known_ = rights;
    landlock::RulesetAttribute attribute{known_, 0, 0};
    long fd = sys::call(__NR_landlock_create_ruleset, &attribute, sizeof attribute, 0);
    fd_ = static_cast<int>(fd);
    return fd;
  }
  long allow(int object, std::uint64_t rights) const {
    landlock::PathBeneath rule{rights & known_, object};
    return sys::call(__NR_landlock_add_rule, fd_, landlock::kRulePathBeneath, &rule, 0);
  }
  long allow(const char* path, std::uint64_t rights) const {
    long object = sys::call(__NR_openat, AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (object < 0) return object;
    return allow(static_cast<int>(object), rights);  // left to close_range and exec
  }
  long allow_connect(std::uint16_t port) const {
    landlock::NetPort rule{landlock::kConnectTcp, port};
    return sys::call(__NR_landlock_add_rule, fd_, landlock::kRuleNetPort, &rule, 0);
  }
  long enter() {
    long rc = sys::call(__NR_landlock_restrict_self, fd_, 0);
    sys::close(fd_);
    return rc;
  }

 private:
  int fd_ = -1;
  std::uint64_t known_ = 0;
};

}  // namespace oncelatch::sandbox
