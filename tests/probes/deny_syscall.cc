// Runs a program as on a kernel that lacks something: a filter that makes chosen system calls fail.
//
//   deny_syscall user-namespaces PROGRAM ARGUMENT...   clone and unshare with CLONE_NEWUSER, clone3: EPERM
//   deny_syscall landlock PROGRAM ARGUMENT...          landlock_create_ruleset: ENOSYS
//   deny_syscall listener PROGRAM ARGUMENT...          the only listener is an outer tool's (here, of a call nobody
//   makes) deny_syscall CALL:ERRNO-NUMBER PROGRAM ...         any one call
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int deny_namespaces(scmp_filter_ctx filter) {
  const scmp_arg_cmp new_user{0, SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER};
  int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone3), 0);
  for (int call : {SCMP_SYS(clone), SCMP_SYS(unshare)}) {
    if (rc == 0) rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &new_user);
  }
  return rc;
}

int deny_one(scmp_filter_ctx filter, const std::string& what) {
  std::size_t colon = what.find(':');
  int call = seccomp_syscall_resolve_name(what.substr(0, colon).c_str());
  int error = colon == std::string::npos ? ENOSYS : std::atoi(what.c_str() + colon + 1);
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call, 0);
}

// The listener stays open in what is started: with its end another one could be had.
int take_listener(scmp_filter_ctx filter) {
  int rc = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(lookup_dcookie), 0);
  if (rc == 0) rc = seccomp_load(filter);
  const int listener = rc == 0 ? seccomp_notify_fd(filter) : rc;
  if (listener >= 0) fcntl(listener, F_SETFD, 0);
  return listener < 0 ? listener : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: deny_syscall user-namespaces|landlock|listener|CALL:ERRNO PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  std::string what = argv[1];
  int rc = what == "listener"          ? take_listener(filter)
           : what == "user-namespaces" ? deny_namespaces(filter)
                                       : deny_one(filter, what == "landlock" ? "landlock_create_ruleset" : what);
  if (rc == 0 && what != "listener") rc = seccomp_load(filter);
  if (rc != 0) {
    std::fprintf(stderr, "deny_syscall: %s: %s\n", argv[1], std::strerror(-rc));
    return 2;
  }
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 127;
}
