// The Landlock tier's own steps: two processes without namespaces. Neither is pid 1 of anything, so both take in the
// orphans of what they started (PR_SET_CHILD_SUBREAPER) and end them all, child by child, before they end themselves.
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "sandbox/enforce.h"
#include "sandbox/landlock_abi.h"
#include "sandbox/ruleset.h"
#include "sandbox/signals.h"

namespace oncelatch::sandbox {

namespace {

constexpr char kChildren[] = "/proc/thread-self/children";

bool ends_descendants = false;
bool signals_inside_only = false;

// With its process group, whose members can't fork past the signal as a lone chain of forks does. The group of one that
// isn't reaped yet can't have become another's, and ours holds none of them: the program began a session of its own.
void kill_with_group(int pid) {
  const long group = sys::call(__NR_getpgid, pid);
  (void)sys::call(__NR_kill, pid, kSigkill);
  if (group > 1 && group != sys::call(__NR_getpgid, 0)) (void)sys::call(__NR_kill, -group, kSigkill);
}

// Children of this process by their numbers, each sent SIGKILL. They stay children (as zombies) until they are waited
// for, so no number can have become another process meanwhile. A list that is cut short goes on in the next round.
long kill_children() {
  long fd = sys::call(__NR_openat, AT_FDCWD, kChildren, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  char text[4096];
  long size = sys::call(__NR_read, fd, text, sizeof text);
  sys::close(static_cast<int>(fd));
  int pid = 0;
  for (long i = 0; i < size; ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      pid = pid * 10 + (text[i] - '0');
    } else {
      if (pid > 0) kill_with_group(pid);
      pid = 0;
    }
  }
  return size;
}

// The children of one that was killed become ours, so this ends when there is nobody left.
void end_descendants() {
  for (;;) {
    if (signals_inside_only) (void)sys::call(__NR_kill, -1, kSigkill);  // all at once, none forks past it
    if (kill_children() < 0) return;
    long waited = sys::call(__NR_wait4, -1, nullptr, __WALL, nullptr);
    while (waited > 0) waited = sys::call(__NR_wait4, -1, nullptr, __WALL | WNOHANG, nullptr);
    if (waited == -ECHILD) return;
  }
}

}  // namespace

Outcome take_in_orphans(Context&) {
  if (long rc = sys::call(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1); rc < 0) return failed(rc, "PR_SET_CHILD_SUBREAPER");
  long fd = sys::call(__NR_openat, AT_FDCWD, kChildren, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(fd, kChildren);
  sys::close(static_cast<int>(fd));
  ends_descendants = true;
  // The lifeline tells the launcher's end. Dying with it, the outer process would leave to the host what it takes over
  // from the first one, which it has just killed.
  if (long rc = sys::call(__NR_prctl, PR_SET_PDEATHSIG, 0); rc < 0) return failed(rc, "PR_SET_PDEATHSIG");
  return {};
}

void finish(int code) {
  if (ends_descendants) end_descendants();
  sys::exit(code);
}

// Of the first process, once its domain is entered. A scope that doesn't hold is the self-test's to tell.
Outcome end_by_domain(Context& context) {
  const bool scoped = (landlock::known_scopes(context.plan->landlock_abi) & landlock::kScopeSignal) != 0;
  signals_inside_only = scoped && sys::call(__NR_kill, context.outer_pid, 0) == -EPERM;
  return {};
}

// clone, not clone3, which a filter outside may refuse. The child doesn't die with this process: it first ends what it
// started.
Outcome fork_first_process(Context& context) {
  context.outer_pid = static_cast<int>(sys::call(__NR_getpid));
  long pidfd = sys::call(__NR_pidfd_open, context.outer_pid, 0);
  if (pidfd < 0) return failed(pidfd, "pidfd_open");
  context.outer_pidfd = static_cast<int>(pidfd);
  long child = sys::call(__NR_clone, CLONE_PIDFD | kSigchld, nullptr, &context.inside_pidfd, nullptr, nullptr);
  if (child < 0) return failed(child, "clone");
  context.inside_pid = static_cast<int>(child);
  return {};
}

Outcome enter_working_directory(Context& context) {
  const Text& directory = context.plan->working_directory;
  if (long rc = sys::call(__NR_chdir, directory.data); rc < 0) return failed(rc, directory.data);
  return {};
}

// A domain below that of the first process: nothing inside can signal or trace that one. It allows all that the first
// domain does; where there is no scope, one right that is never given stands for it.
Outcome leave_first_process(Context& context) {
  int abi = context.plan->landlock_abi;
  Ruleset ruleset;
  if (long rc = ruleset.create_nested(abi); rc < 0) return failed(rc, "nested create_ruleset");
  if (long rc = ruleset.enter(); rc < 0) return failed(rc, "nested restrict_self");
  return {};
}

}  // namespace oncelatch::sandbox
