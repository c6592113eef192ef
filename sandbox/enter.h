// Entering a sandbox: prepare() opens and checks everything, enter() starts the exec path (oncelatch-exec), which sets
// up the confinement in the order of sandbox/enforce.cc, runs its own probes inside, and execs the verified program.
//
//   PreparedSandbox prepared = TRY(prepare(plan, artifact, host_facts));
//   Confined confined = TRY(enter(std::move(prepared), streams));
//   ExitStatus status = TRY(confined.process.wait(...));   // the program's own code; 128+n for a signal
//   Ending hit = ending_of(confined, status);            // by itself, by a signal, at a limit
//
// Ownership: PreparedSandbox owns its descriptors, Confined owns the process and the lifeline: when the lifeline's last
// holder ends (also by SIGKILL) everything inside dies. Threads: one. Failure: stage, object, errno of the step that
// failed, told by the child through a close-on-exec pipe; nothing of a failed set-up stays behind. A self-test that
// succeeds in doing what must fail is a failure "sandbox: self-test: NAME". After fork: only oncelatch-exec runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/artifact.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"
#include "sandbox/cgroup.h"
#include "sandbox/host_facts.h"
#include "sandbox/plan.h"
#include "sandbox/stage.h"

namespace oncelatch::sandbox {

class Planted;

class PreparedSandbox {
 public:
  PreparedSandbox(PreparedSandbox&&) noexcept;
  PreparedSandbox& operator=(PreparedSandbox&&) noexcept;
  ~PreparedSandbox();

 private:
  friend Result<PreparedSandbox> prepare(const SandboxPlan&, const VerifiedArtifact&, const HostFacts&);
  friend Result<struct Confined> enter(PreparedSandbox, const struct Streams&);
  PreparedSandbox();
  Fd message_;               // memfd: the serialised plan, sealed by enter()
  std::vector<Fd> sources_;  // O_PATH descriptors of mounts, in the plan's order
  Fd program_;
  Cgroup group_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::unique_ptr<Planted> planted_;  // what the self-test must not reach; removed when enter() returns
};

// The tier must be full (HostFacts::tier()); otherwise an Error whose stage is "sandbox" and whose errno is ENOTSUP:
// exit 121.
[[nodiscard]] Result<PreparedSandbox> prepare(const SandboxPlan& plan, const VerifiedArtifact& artifact,
                                              const HostFacts& facts);

struct Streams {
  int terminal = -1;  // slave of the inner pty: the controlling terminal, and every stream that isn't named
  int input = -1;     // 0, 1, 2; neither named nor a terminal: /dev/null
  int output = -1;
  int error = -1;
};

struct SelfTestResult {
  std::string name;  // "write-outside", "unshare", …
  bool refused = false;
  int errno_value = 0;
};

struct Confined {
  Cgroup group;     // first, so that it is removed last
  Process process;  // the outer oncelatch-exec; its exit code is the program's
  Fd lifeline;      // closing it ends everything inside
  Fd limit;         // the first process inside writes here how it ended
  std::vector<SelfTestResult> self_test;
};

[[nodiscard]] Result<Confined> enter(PreparedSandbox prepared, const Streams& streams);

// How it ended, once the process has been waited for. Memory and processes end everything inside with 137; file_size is
// the program's own SIGXFSZ (153). Of a shell's children the shell alone knows.
[[nodiscard]] Ending ending_of(const Confined& confined, const ExitStatus& status);

// Path of one of our programs beside the running one: same directory, or bin and libexec/oncelatch of one prefix.
[[nodiscard]] Result<std::string> find_companion(const std::string& name);

}  // namespace oncelatch::sandbox
