// namespaces(7), user_namespaces(7): seven of them, one uid and one gid mapped, no root.
#include <asm/ioctls.h>
#include <linux/fcntl.h>
#include <linux/if.h>
#include <linux/in.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>

#include "sandbox/enforce.h"
#include "sandbox/signals.h"
#include "sandbox/small_text.h"
#include "sandbox/test_hook.h"

namespace oncelatch::sandbox {

namespace {

constexpr char kHostName[] = "oncelatch";

}  // namespace

// Root launches the program under an ordinary kernel user; anybody else stays who they are, and so does a root that
// can't change its groups, as long as the plan asks for nobody else.
Outcome become_confined_user(Context& context) {
  const WirePlan& plan = *context.plan;
  bool root = sys::call(__NR_geteuid) == 0;
  if (root) {
    long groups = sys::call(__NR_setgroups, 0, nullptr);
    if (groups < 0 && (groups != -EPERM || plan.uid != 0)) return failed(groups, "setgroups");
    if (long rc = sys::call(__NR_setresgid, plan.gid, plan.gid, plan.gid); rc < 0) return failed(rc, "setresgid");
    if (long rc = sys::call(__NR_setresuid, plan.uid, plan.uid, plan.uid); rc < 0) return failed(rc, "setresuid");
  }
  if (sys::call(__NR_geteuid) != static_cast<long>(plan.uid)) return failed(-EPERM, "uid of the plan");
  if (sys::call(__NR_getegid) != static_cast<long>(plan.gid)) return failed(-EPERM, "gid of the plan");
  // A change of user clears both.
  if (long rc = sys::call(__NR_prctl, PR_SET_PDEATHSIG, kSigkill); rc < 0) return failed(rc, "PR_SET_PDEATHSIG");
  if (long rc = sys::call(__NR_prctl, PR_SET_DUMPABLE, 1); rc < 0) return failed(rc, "PR_SET_DUMPABLE");
  return {};
}

Outcome make_namespaces(Context& context) {
  context.outer_pid = static_cast<int>(sys::call(__NR_getpid));
  long pidfd = sys::call(__NR_pidfd_open, context.outer_pid, 0);
  if (pidfd < 0) return failed(pidfd, "pidfd_open");
  context.outer_pidfd = static_cast<int>(pidfd);
  std::uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (!has(*context.plan, kPlanHostNetwork)) flags |= CLONE_NEWNET;
  clone_args arguments{};
  arguments.flags = (flags & ~without_namespaces_by_test(context)) | CLONE_PIDFD;
  arguments.exit_signal = kSigchld;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&context.inside_pidfd);
  long child = sys::call(__NR_clone3, &arguments, sizeof arguments);
  if (child < 0) return failed(child, "clone3");
  context.inside_pid = static_cast<int>(child);
  if (child != 0) return {};
  if (long rc = sys::call(__NR_prctl, PR_SET_PDEATHSIG, kSigkill); rc < 0) return failed(rc, "PR_SET_PDEATHSIG");
  return {};
}

Outcome map_identity(Context& context) {
  SmallText line;
  if (Outcome outcome = write_file("/proc/self/setgroups", "deny"); outcome.error != 0) return outcome;
  line.number(context.plan->shown_gid).text(" ").number(context.plan->gid).text(" 1");
  if (Outcome outcome = write_file("/proc/self/gid_map", line.c_str()); outcome.error != 0) return outcome;
  line.clear();
  line.number(context.plan->shown_uid).text(" ").number(context.plan->uid).text(" 1");
  return write_file("/proc/self/uid_map", line.c_str());
}

Outcome hide_memory(Context&) {
  if (long rc = sys::call(__NR_prctl, PR_SET_DUMPABLE, 0); rc < 0) return failed(rc, "PR_SET_DUMPABLE");
  return {};
}

Outcome name_host(Context&) {
  if (long rc = sys::call(__NR_sethostname, kHostName, sizeof kHostName - 1); rc < 0) return failed(rc, "sethostname");
  return {};
}

// Only where it may be used: without an interface that is up there is nothing to send to at all.
Outcome raise_loopback(Context& context) {
  if (!has(*context.plan, kPlanLoopback)) return {};
  constexpr int kInternet = 2;
  constexpr int kDatagram = 2;
  long socket = sys::call(__NR_socket, kInternet, kDatagram | O_CLOEXEC, 0);
  if (socket < 0) return failed(socket, "socket");
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  long rc = sys::call(__NR_ioctl, socket, SIOCSIFFLAGS, &request);
  sys::close(static_cast<int>(socket));
  if (rc < 0) return failed(rc, "lo");
  return {};
}

}  // namespace oncelatch::sandbox
