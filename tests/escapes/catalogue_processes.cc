#include "tests/escapes/catalogue.h"
#include "tests/escapes/procedures.h"

namespace oncelatch::escapes {

namespace {

// No such process, or refused; a look at the arguments is no refusal.
constexpr const char* kNobody = "ESRCH EPERM EACCES ENOSYS EBADF";

}  // namespace

std::vector<Case> process_cases() {
  return {
      {.id = "E048",
       .technique = "attach to a process outside",
       .attempts = {{"ptrace-attach={pid}", kNobody},
                    {"ptrace-seize={pid}", kNobody},
                    {"ptrace-seize=1", kNobody},
                    {"ptrace-me", kPermission, true}}},
      {.id = "E049",
       .technique = "write memory by /proc",
       .attempts = {{"append=/proc/{pid}/mem"}, {"append=/proc/1/mem"}, {"append=/proc/self/mem", "", true}}},
      {.id = "E050",
       .technique = "process_vm_*, process_madvise",
       .attempts = {{"vm-read={pid}", kNobody},
                    {"vm-write={pid}", kNobody},
                    {"process-madvise={pid}", kNobody},
                    {"vm-read=1", kNobody},
                    {"kcmp={pid}", kNobody}}},
      {.id = "E051",
       .technique = "steal descriptors",
       .attempts = {{"pidfd-getfd={pid}", kNobody}, {"pidfd-getfd=1", kNobody}}},
      {.id = "E053",
       .technique = "signals; survive the launcher",
       .attempts = {{"signal={pid}", kNobody},
                    {"tgkill={pid}", kNobody},
                    {"sigio={pid}", kNobody},
                    {"signal={suite}", kNobody},
                    {"kill={pid}", kNobody}},
       .procedure = kill_the_launcher},
      {.id = "E054",
       .technique = "secrets of other processes",
       .attempts = {{"proc-value={canary}"},
                    {"read=/proc/{pid}/environ"},
                    {"read=/proc/{pid}/cmdline"},
                    {"read=/proc/1/environ", "", true}},
       .environment = {"DEPLOY_TOKEN={canary-value}"}},
      {.id = "E056",
       .technique = "execute from memory",
       .attempts = {{"memfd-attempt=write={outside}/new-by-memory"},
                    {"memfd-attempt=append={outside}/secret"},
                    {"memfd-attempt=tcp={port}"},
                    {"memfd-attempt=unshare-user"}},
       .work = {"memfd-exec=/bin/true"}},
      {.id = "E104",
       .technique = "shared memory and queues",
       .attempts = {{"shmat={shm}"},
                    {"mq-open=oncelatch-{tail}"},
                    {"read=/dev/shm/oncelatch-{tail}"},
                    {"append=/dev/shm/oncelatch-{tail}"}},
       .work = {"sh=echo x > /dev/shm/mine && rm /dev/shm/mine"}},
      {.id = "E136",
       .technique = "uid 0; where unshare is refused",
       .attempts = {{"read=/etc/shadow"},
                    {"read=/root/.bashrc"},
                    {"capability"},
                    {"mknod-char={workspace}/character"},
                    {"append=/proc/sys/kernel/core_pattern"},
                    {"append=/etc/passwd"},
                    {"setuid-root", "", true}},
       .procedure = in_a_container},
  };
}

}  // namespace oncelatch::escapes
