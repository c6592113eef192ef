// Attempts of the probe program: each returns 0 when it got through, or an errno.
//
//   probe read=/root/.bashrc unshare-user fd=10   ->   "read=/root/.bashrc ENOENT" and so on, one line each
//
// Ownership: none. Threads: one. Failure: the errno; 1000 + n for a child killed by signal n. After fork: not used.
#pragma once

#include <cerrno>
#include <string>

namespace oncelatch::probe {

using Attempt = int (*)(const std::string& argument);

struct Named {
  const char* name;
  Attempt attempt;
};

inline int error_of(long rc) {
  return rc < 0 ? errno : 0;
}

// Ends the list with a null name.
extern const Named kFileAttempts[];
extern const Named kProcessAttempts[];
extern const Named kKernelAttempts[];
extern const Named kSocketAttempts[];
extern const Named kLimitAttempts[];
extern const Named kEnvironmentAttempts[];
extern const Named kRaceAttempts[];

}  // namespace oncelatch::probe
