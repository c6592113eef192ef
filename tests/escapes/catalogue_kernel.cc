#include <sys/syscall.h>

#include "tests/escapes/catalogue.h"
#include "tests/escapes/procedures.h"

namespace oncelatch::escapes {

namespace {

constexpr const char* kFamily = "EPERM EACCES ENOSYS EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT";

std::string call(long number, const std::string& arguments = "") {
  return "call=" + std::to_string(number) + arguments;
}

// Harmless arguments that the kernel looks at after its check of privilege: what gets through changes nothing.
std::vector<Attempt> administration() {
  std::vector<Attempt> attempts;
  for (long number : {SYS_init_module, SYS_finit_module, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_kexec_file_load})
    attempts.push_back({call(number), kPermission});
  attempts.push_back({call(SYS_settimeofday), kPermission});  // neither a time nor a zone
  attempts.push_back({call(SYS_delete_module, ":1:0"), kPermission});
  attempts.push_back({call(SYS_kexec_load, ":0:1000"), kPermission});  // too many segments
  attempts.push_back({call(SYS_acct, ":1"), kPermission});
  attempts.push_back({call(SYS_syslog, ":10"), kPermission});
#if defined(__x86_64__)
  attempts.push_back({call(SYS_iopl, ":3"), kPermission});
  attempts.push_back({call(SYS_ioperm, ":128:1:1"), kPermission});
#endif
  // These look at their arguments first, so outside a filter nothing is learned.
  for (long number : {SYS_adjtimex, SYS_clock_settime, SYS_quotactl})
    attempts.push_back({call(number), kPermission, true});
  return attempts;
}

std::vector<Attempt> families() {
  std::vector<Attempt> attempts;
  for (const char* word :
       {"socket=16:3:9", "socket=16:3:15", "socket=17:3", "socket=38:5", "socket=40:1", "socket=44:3", "socket=30:5",
        "socket=21:5", "socket=31:5", "socket=41:5", "socket=43:1", "socket=2:1:262", "socket=2:3:1", "socket=29:3"})
    attempts.push_back({word, kFamily});
  return attempts;
}

std::vector<Case> entries() {
  return {
      {.id = "E060",
       .technique = "x32 numbers",
       .attempts = {{"x32=257", kPermission}, {"x32=41", kPermission}, {"x32=272", kPermission}}},
      {.id = "E061",
       .technique = "the 32-bit entry",
       .attempts = {{"i386=26:0", "EPERM ENOSYS", true},
                    {"i386=310:268435456", kPermission},
                    {"i386=120:268435473", kPermission},
                    {"i386=288", kPermission},
                    {"i386=359:38:5", kFamily},
                    {"i386=136:4194304", kPermission},
                    {"i386=357", kPermission, true},
                    {"i386=102:1", kPermission, true},
                    {"i386=425", kPermission, true}},
       .work = {"i386=20"}},
      {.id = "E062",
       .technique = "create a user namespace",
       .attempts = {{"unshare-user", "EPERM EACCES ENOSYS ENOSPC"},
                    {"unshare-all", "EPERM EACCES ENOSYS ENOSPC"},
                    {"clone-user", "EPERM EACCES ENOSYS ENOSPC"},
                    {"clone3-user", "EPERM EACCES ENOSYS ENOSPC"},
                    {"setns=/proc/self/ns/user", kPermission},
                    {"sh=unshare -r true"},
                    {"unshare-mount", kPermission}}},
  };
}

}  // namespace

std::vector<Case> kernel_cases() {
  std::vector<Case> cases = {
      {.id = "E058", .technique = "io_uring", .attempts = {{"io-uring", kPermission}}},
      {.id = "E059", .technique = "userfaultfd", .attempts = {{call(SYS_userfaultfd, ":1"), kPermission}}},
      {.id = "E064",
       .technique = "keyrings",
       .attempts = {{"find-key=oncelatch-canary"},
                    {"request-key=oncelatch-canary"},
                    {"keyctl", kPermission, true},
                    {"add-key", kPermission, true}}},
      {.id = "E065", .technique = "perf events", .attempts = {{"perf", kPermission}}},
      {.id = "E066", .technique = "bpf", .attempts = {{"bpf", kPermission}}},
      {.id = "E067", .technique = "modules, kexec, clock, reboot", .attempts = administration()},
      {.id = "E069",
       .technique = "change an argument after the check",
       .attempts = {{"race-write={workspace}/file:{outside}/secret"},
                    {"race-connect={workspace}/nobody:{outside}/socket"}}},
      {.id = "E070",
       .technique = "unusual socket families",
       .attempts = families(),
       .work = {"socket=1:1", "socket=2:1", "socket=2:2"}},
      {.id = "E071",
       .technique = "weaken the address space",
       .attempts = {{"personality=0x0400000", kPermission},
                    {"personality=0x0040000", kPermission},
                    {"personality=0x80000000", kPermission, true},
                    {"prctl-mm", kPermission},
                    {"map-zero", kPermission}},
       .work = {"personality=0xffffffff"}},
  };
  std::vector<Case> more = entries();
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

std::vector<Case> terminal_cases() {
  return {
      {.id = "E072",
       .technique = "TIOCSTI",
       .attempts = {{"tiocsti"}, {"tiocsti-high=32"}, {"tiocsti-high=63", "", true}, {"tioclinux", kPermission, true}},
       .flags = "terminal",
       .procedure = inject_input},
      {.id = "E074",
       .technique = "open other terminals",
       .attempts = {{"other-terminal={tty}"},
                    {"read={tty}", "ENOENT EACCES EPERM ENXIO"},
                    {"other-terminal=/dev/console"},
                    {"other-terminal=/dev/tty0"},
                    {"append=/dev/vcs1"}},
       .work = {"append=/dev/tty"},
       .flags = "terminal"},
      {.id = "E075", .technique = "clipboard, titles, queries", .flags = "terminal", .procedure = print_sequences},
      {.id = "E077",
       .technique = "hostile text in the launcher's words",
       .procedure = hostile_name,
       .scope = Scope::launcher_itself},
      {.id = "E078", .technique = "flood", .procedure = flood, .scope = Scope::launcher_itself},
      {.id = "E079", .technique = "leave the terminal in a bad mode", .flags = "terminal", .procedure = leave_modes},
      {.id = "E080", .technique = "spoofed hyperlinks", .flags = "terminal links", .procedure = print_sequences},
  };
}

}  // namespace oncelatch::escapes
