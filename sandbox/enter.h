// Entering a sandbox: starts the exec path (oncelatch-exec), which makes its namespaces while the launcher opens and
// checks everything (sandbox/prepare.h), then sets up the confinement in the order of sandbox/enforce.cc, runs its own
// probes inside, and execs the verified program.
//
//   Entering entering = TRY(begin_entering(plan, host_facts, streams));
//   Confined confined = TRY(enter(std::move(entering), plan, artifact, host_facts));
//   ExitStatus status = TRY(confined.process.wait(...));   // the program's own code; 128+n for a signal
//   Ending hit = ending_of(confined, status);            // by itself, by a signal, at a limit
//
// Ownership: Confined owns the process and the lifeline: when the lifeline's last holder ends (also by SIGKILL)
// everything inside dies; an Entering likewise. Threads: one. Failure: stage, object, errno of the step that failed,
// told by the child through a close-on-exec pipe; nothing of a failed set-up stays behind. A self-test that succeeds in
// doing what must fail is a failure "sandbox: self-test: NAME". What this machine lacks: errno ENOTSUP, exit 121. After
// fork: only oncelatch-exec runs.
#pragma once

#include <string>
#include <vector>

#include "base/artifact.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"
#include "sandbox/cgroup.h"
#include "sandbox/host_facts.h"
#include "sandbox/plan.h"
#include "sandbox/plan_wire.h"
#include "sandbox/stage.h"

namespace oncelatch::sandbox {

struct Streams {
  int terminal = -1;  // slave of the inner pty: the controlling terminal, and every stream that isn't named
  int input = -1;     // 0, 1, 2; neither named nor a terminal: /dev/null
  int output = -1;
  int error = -1;
  bool job_control = false;  // a user can stop the program: the caller reads what is told and continues it
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
  Fd limit;         // the first process inside writes here how it ended, and before that when it was stopped
  Fd held;          // the guard's channel (sandbox/held_wire.h), not blocking; none where held names are reported
  Ending told = Ending::unknown;  // of the limit pipe, once it was read
  std::vector<SelfTestResult> self_test;
};

// The exec path at work on its namespaces, which knows who it runs for and what of (below), and waits for the rest.
struct Entering {
  Confined confined;
  Fd plan;    // socket
  Fd status;  // pipe, read end
  Streams streams;
  Beginning beginning;  // what it was told
};

// The tier must be full (HostFacts::tier()), or one that the plan asks for. Whoever still works out the rest of the
// plan begins with what is known: identity, network, limits, ptrace and guard must be the same in the end.
[[nodiscard]] Result<Entering> begin_entering(const SandboxPlan& known, const HostFacts& facts, const Streams& streams);
[[nodiscard]] Result<Confined> enter(Entering entering, const SandboxPlan& plan, const VerifiedArtifact& artifact,
                                     const HostFacts& facts);
[[nodiscard]] Result<Confined> enter(const SandboxPlan& plan, const VerifiedArtifact& artifact, const HostFacts& facts,
                                     const Streams& streams);

// True once for each time that the program was stopped; the caller continues it with SIGCONT.
[[nodiscard]] bool was_stopped(Confined& confined);
// How it ended, once the process has been waited for. Memory and processes end everything inside with 137; file_size is
// the program's own SIGXFSZ (153). Of a shell's children the shell alone knows. A program that gave up where it could
// make no more processes (refused_processes) has its own code.
[[nodiscard]] Ending ending_of(Confined& confined, const ExitStatus& status);

// Path of one of our programs beside the running one: same directory, or bin and libexec/oncelatch of one prefix.
[[nodiscard]] Result<std::string> find_companion(const std::string& name);

}  // namespace oncelatch::sandbox
