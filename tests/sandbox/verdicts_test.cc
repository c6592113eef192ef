// What must fail inside, whoever launches: one table, the cases of tests/cases/sandbox-escapes.json by id.
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/json.h"
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

struct Verdict {
  const char* cases;    // ids of the catalogue, separated by spaces; empty: ours
  std::string attempt;  // {outside}, {workspace}, {abstract}, {pid}, {shm} are filled in
  std::set<std::string> refusals;
};

const std::set<std::string> kGone = {"ENOENT"};
const std::set<std::string> kNoWrite = {"ENOENT", "EROFS", "EACCES"};
const std::set<std::string> kFilter = {"EPERM"};
const std::set<std::string> kAbsent = {"ENOSYS"};
const std::set<std::string> kNotOpen = {"EBADF"};
const std::set<std::string> kNobody = {"ESRCH"};

std::vector<Verdict> files() {
  return {
      {"E087 E088", "write={outside}/new", kNoWrite},
      {"E087 E088", "append={outside}/secret", kNoWrite},
      {"E087 E088", "read={outside}/secret", kGone},
      {"", "truncate={outside}/secret", kNoWrite},
      {"", "list={outside}", kGone},
      {"", "list=/root", kGone},
      {"", "list=/home/agent/..", {"ENODATA", "OK"}},  // only the made-up home lies there
      {"", "read=/root/.bashrc", kGone},
      {"", "write=/root/new", kNoWrite},
      {"", "write=/usr/new", kNoWrite},
      {"", "append=/usr/bin/true", kNoWrite},
      {"", "write=/etc/new", kNoWrite},
      {"", "append=/etc/passwd", kNoWrite},
      {"", "write=/new", kNoWrite},
      {"", "mkdir=/new", kNoWrite},
      {"", "write=/dev/new", kNoWrite},
      {"", "write=/proc/new", kNoWrite},
      {"", "read=/etc/shadow", kGone},
      {"", "read=/etc/machine-id", kGone},
      {"", "read=/etc/sudoers", kGone},
      {"", "list=/etc/ssh", kGone},
      {"", "list=/run", kGone},
      {"E027", "list=/sys", kGone},
      {"", "list=/boot", kGone},
      {"E014", "fd=10", kNotOpen},
      {"E015", "fd=200", kNotOpen},
      {"E014 E015", "any-fd", kNotOpen},
      {"E027", "append=/proc/sys/kernel/core_pattern", kNoWrite},
      {"E027", "append=/proc/sysrq-trigger", kNoWrite},
      {"E027", "append=/proc/sys/user/max_user_namespaces", kNoWrite},
      {"E027", "read=/proc/kcore", {"ENODATA", "ENOENT"}},
      {"E027", "read=/proc/kallsyms", {"ENODATA", "ENOENT"}},
      {"E027", "read=/proc/keys", {"ENODATA", "ENOENT"}},
      {"E027", "read=/proc/timer_list", {"ENODATA", "ENOENT", "EACCES"}},
      {"E018", "mknod-block={workspace}/d", kFilter},
      {"E018", "mknod-char={workspace}/d", kFilter},
      {"E018", "read=/dev/mem", kGone},
      {"E018", "read=/dev/kmsg", kGone},
      {"E018", "read=/dev/kvm", kGone},
      {"E018", "read=/dev/fuse", kGone},
      {"E019", "chmod-suid={workspace}/file", kFilter},
      {"E019", "fchmodat2-suid={workspace}/file", kAbsent},
      {"E019", "create-sgid={workspace}/sgid", kFilter},
      {"E019", "tmpfile-suid={workspace}", kFilter},
      {"E019", "file-capability={workspace}/file", kFilter},
      {"E017", "name-to-handle={workspace}", kFilter},
      {"E017", "open-by-handle={workspace}", kFilter},
      {"E002", "openat2={workspace}/file", kAbsent},
  };
}

std::vector<Verdict> mounts() {
  return {
      {"E008", "umount=/usr", kFilter},
      {"E008", "umount=/proc/sys", kFilter},
      {"E008", "umount={workspace}", kFilter},
      {"E008", "remount=/usr", kFilter},
      {"", "mount=/tmp", kFilter},
      {"E009", "pivot-root", kFilter},
      {"E009", "chroot={workspace}", kFilter},
      {"E009", "unshare-user", kFilter},
      {"E009 E062", "unshare-all", kFilter},
      {"E062", "unshare-mount", kFilter},
      {"E062", "clone-user", kFilter},
      {"E062", "clone3-user", kAbsent},
      {"E062", "setns=/proc/self/ns/user", kFilter},
      {"E062", "setns=/proc/1/ns/mnt", kFilter},
      {"", "open-tree=/usr", kAbsent},
      {"", "move-mount", kAbsent},
      {"", "fsopen=tmpfs", kAbsent},
      {"", "mount-setattr=/usr", kAbsent},
  };
}

std::vector<Verdict> processes() {
  return {
      {"E053", "signal={pid}", kNobody},
      {"E053", "kill={pid}", kNobody},
      {"E054", "foreign-process", kNobody},
      {"E054", "read=/proc/{pid}/environ", kGone},
      {"E054", "read=/proc/1/environ", {"EACCES", "EPERM"}},
      {"E026", "list=/proc/1/root", {"EACCES", "EPERM"}},
      {"E026", "list=/proc/1/cwd", {"EACCES", "EPERM"}},
      {"E026", "list=/proc/{pid}/root", kGone},
      {"E049", "append=/proc/1/mem", {"EACCES", "EPERM", "EROFS"}},
      {"E049", "append=/proc/self/mem", {"EACCES", "EPERM", "EROFS"}},
      {"E048", "ptrace-me", kFilter},
      {"E048", "ptrace-attach={pid}", kFilter},
      {"E048", "ptrace-seize=1", kFilter},
      {"E050", "vm-read=1", kFilter},
      {"E050", "vm-write={pid}", kFilter},
      {"E050", "process-madvise=1", kAbsent},
      {"E051", "pidfd-getfd=1", kFilter},
      {"E050", "kcmp=1", kFilter},
      {"E136", "setuid-root", {"EPERM", "EINVAL"}},
      {"E104", "shmat={shm}", {"EINVAL"}},
  };
}

std::string call(long number) {
  return "call=" + std::to_string(number);
}

std::vector<Verdict> kernel() {
  std::vector<Verdict> table = {
      {"E058", "io-uring", kAbsent},
      {"E064", "keyctl", kFilter},
      {"E064", "add-key", kFilter},
      {"E065", "perf", kFilter},
      {"E066", "bpf", kFilter},
      {"E067", "settimeofday", kFilter},
      {"", call(463), kAbsent},  // newer than the filter
      {"", call(467), kAbsent},  // open_tree_attr
      {"E071", "personality=0x0400000", kFilter},
      {"E071", "personality=0x0040000", kFilter},
      {"E071", "personality=0x80000000", kFilter},
      {"E071", "prctl-mm", kFilter},
      {"E072", "tiocsti", kFilter},
      {"E072", "tiocsti-high=32", kFilter},
      {"E072", "tiocsti-high=63", kFilter},
      {"E072", "tioclinux", kFilter},
      {"E072", "tiocsetd", kFilter},
      {"E059", call(SYS_userfaultfd), kFilter},
      {"", call(447), kAbsent},  // memfd_secret
      {"", call(SYS_vhangup), kFilter},
  };
  for (long number :
       {SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot,
        SYS_swapon, SYS_swapoff, SYS_adjtimex, SYS_clock_settime, SYS_quotactl, SYS_syslog, SYS_acct})
    table.push_back({"E067", call(number), kFilter});
  return table;
}

#if defined(__x86_64__)
std::vector<Verdict> other_entries() {
  return {
      {"E067", call(SYS_iopl) + ":3", kFilter},
      {"E067", call(SYS_ioperm), kFilter},
      {"", call(SYS_modify_ldt), kFilter},
      {"E060", "x32=257", {"SIG31"}},
      {"E060", "x32=41", {"SIG31"}},
      {"E060", "x32=272", {"SIG31"}},
      {"E061", "i386=26:0", kFilter},           // ptrace
      {"E061", "i386=21", kFilter},             // mount
      {"E061", "i386=310:268435456", kFilter},  // unshare
      {"E061", "i386=120:268435473", kFilter},  // clone with CLONE_NEWUSER
      {"E061", "i386=288", kFilter},            // keyctl
      {"E061", "i386=359:38:5", kFilter},       // socket(AF_ALG)
      {"E061", "i386=102:1", kFilter},          // socketcall
      {"E061", "i386=54:0:21522", kFilter},     // ioctl(TIOCSTI)
      {"E061", "i386=357", kFilter},            // bpf
      {"E061", "i386=425", kAbsent},            // io_uring_setup
      {"E061", "i386=435", kAbsent},            // clone3
      {"E061", "i386=136:4194304", kFilter},    // personality
  };
}
#else
std::vector<Verdict> other_entries() {
  return {};
}
#endif

std::vector<Verdict> sockets() {
  std::vector<Verdict> table = {
      {"E095 E096 E097 E098 E081", "unix={outside}/socket", kGone},
      {"E095", "unix=/var/run/docker.sock", kGone},
      {"E097", "unix=/run/dbus/system_bus_socket", kGone},
      {"E098", "unix=/run/systemd/private", kGone},
      {"E099 E100", "abstract={abstract}", {"ECONNREFUSED", "EPERM"}},
      {"E070", "socket=2:1:262", kFilter},  // MPTCP
      {"E070", "socket=2:3:1", kFilter},    // raw
      {"E070", "socket=2:5", kFilter},      // SCTP, chosen by the type
      {"E070", "socket=10:6", kFilter},     // DCCP, chosen by the type
      {"E070", "socket=16:3:9", kFilter},   // netlink audit
      {"E070", "socket=16:3:15", kFilter},  // netlink uevent
      {"", "tcp=80", {"EACCES", "ECONNREFUSED"}},
      {"", "listen-tcp=8080", {"EACCES"}},
      {"", "udp=192.0.2.1", {"ENETUNREACH"}},
  };
  // NETLINK stays for routes; ALG, VSOCK, PACKET, XDP, TIPC, RDS, Bluetooth, KCM, SMC and the rest go.
  for (int family : {3, 4, 5, 9, 17, 21, 29, 30, 31, 38, 40, 41, 43, 44, 45})
    table.push_back({family == 40 ? "E070 E102" : "E070", "socket=" + std::to_string(family) + ":5", kFilter});
  return table;
}

std::vector<Verdict> all_verdicts() {
  std::vector<Verdict> all;
  for (const std::vector<Verdict>& part : {files(), mounts(), processes(), kernel(), other_entries(), sockets()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::string fill(std::string text, const Lab& lab, int shared_memory) {
  const std::pair<std::string, std::string> names[] = {{"{outside}", lab.outside()},
                                                       {"{workspace}", lab.workspace()},
                                                       {"{abstract}", lab.abstract_name()},
                                                       {"{pid}", std::to_string(::getpid())},
                                                       {"{shm}", std::to_string(shared_memory)}};
  for (const auto& [name, value] : names)
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, name.size(), value);
  return text;
}

class Verdicts : public testing::TestWithParam<Launch> {};
INSTANTIATE_TEST_SUITE_P(Launches, Verdicts, testing::ValuesIn(possible_launches()), launch_name);

TEST_P(Verdicts, EveryAttemptFails) {
  REQUIRE_CONFINEMENT();
  Lab lab(GetParam());
  lab.write("file", "x");
  int segment = ::shmget(IPC_PRIVATE, 4096, 0666);
  std::vector<std::string> words;
  for (const Verdict& verdict : all_verdicts()) words.push_back(fill(verdict.attempt, lab, segment));
  std::map<std::string, std::string> seen = lab.attempts(words, {"--leak"});
  for (const Verdict& verdict : all_verdicts()) {
    std::string word = fill(verdict.attempt, lab, segment);
    EXPECT_TRUE(verdict.refusals.contains(seen[word])) << verdict.cases << " " << word << ": " << seen[word];
  }
  ::shmctl(segment, IPC_RMID, nullptr);
  std::ifstream secret(lab.outside() + "/secret");
  std::string content;
  std::getline(secret, content);
  EXPECT_EQ(content, "planted");
}

// The same table outside: an attempt that fails everywhere would prove nothing.
TEST(VerdictTable, TheProbeCanSucceed) {
  Lab lab(possible_launches().front());
  Spawn spawn;
  spawn.path = lab.probe();
  spawn.argv = {"probe",
                "read=" + lab.outside() + "/secret",
                "write=" + lab.outside() + "/new",
                "unix=" + lab.outside() + "/socket",
                "abstract=" + lab.abstract_name(),
                "signal=" + std::to_string(::getpid()),
                "ptrace-me",
                "fd=0",
                "list=/sys",
                "foreign-process"};
  Seen seen = run_program(spawn);
  for (const auto& [word, verdict] : seen.verdicts()) EXPECT_EQ(verdict, "OK") << word;
  EXPECT_EQ(seen.verdicts().size(), 9U);
}

TEST(VerdictTable, NamesOnlyCasesOfTheCatalogue) {
  std::ifstream file(ONCELATCH_CASES_DIR "/sandbox-escapes.json");
  std::stringstream text;
  text << file.rdbuf();
  Result<Json> catalogue = parse_json(text.str(), {}, "sandbox-escapes.json");
  ASSERT_TRUE(catalogue) << catalogue.error().message();
  std::set<std::string> core;
  for (const Json& entry : *catalogue)
    if (*json_string(entry, "part") == "sandbox core") core.insert(*json_string(entry, "id"));
  std::set<std::string> covered;
  for (const Verdict& verdict : all_verdicts()) {
    std::istringstream ids(verdict.cases);
    for (std::string id; ids >> id;) {
      EXPECT_TRUE(core.contains(id)) << id;
      covered.insert(id);
    }
  }
  std::printf("cases of the sandbox core covered by this table: %zu of %zu\n", covered.size(), core.size());
  EXPECT_GE(covered.size(), 35U);
}

// Debuggers and LeakSanitizer: children of its own, and nothing else of that group.
TEST_P(Verdicts, NoCapabilityIsLeftOrComesBack) {
  REQUIRE_CONFINEMENT();
  Lab lab(GetParam());
  auto seen = lab.attempts({"capability", "secure-bits-open", "privileges-by-exec"});
  for (const char* name : {"capability", "secure-bits-open", "privileges-by-exec"})
    EXPECT_EQ(seen[name], "EPERM") << name;
}

TEST_P(Verdicts, PtraceOfItsOwnChildrenWhereAllowed) {
  REQUIRE_CONFINEMENT();
  Lab lab(GetParam());
  std::vector<std::string> words = {"ptrace-child", "ptrace-seize=1", "ptrace-attach=1", "vm-read=1", "kcmp=1"};
  std::map<std::string, std::string> allowed = lab.attempts(words, {"--ptrace"});
  EXPECT_EQ(allowed["ptrace-child"], "OK");
  for (const std::string& word : words) {
    if (word == "ptrace-child") continue;
    EXPECT_EQ(allowed[word], "EPERM") << word;
  }
  EXPECT_EQ(lab.attempts({"ptrace-child"})["ptrace-child"], "EPERM");
}

// Every layer of the self-test is there, and each refused.
TEST_P(Verdicts, SelfTestIsReported) {
  REQUIRE_CONFINEMENT();
  Lab lab(GetParam());
  Seen seen = lab.run({"/bin/true"}, {"--self-test"});
  EXPECT_EQ(seen.code, 0) << seen.err;
  for (const char* name : {"write-outside",    "write-root",       "write-system",
                           "read-secret",      "unshare",          "mount",
                           "unix-socket",      "abstract-socket",  "tcp-socket",
                           "tiocsti",          "tiocsti-high-bit", "signal-outside",
                           "init-memory",      "ptrace",           "io-uring",
                           "mount-namespace",  "pid-namespace",    "network-namespace",
                           "userns-limit",     "capabilities",     "no-new-privileges",
                           "landlock",         "landlock-scope",   "seccomp",
                           "init-not-dumpable"})
    EXPECT_NE(seen.err.find("self-test " + std::string(name) + " 1 E"), std::string::npos) << name << seen.err;
  EXPECT_EQ(seen.err.find("pinned-rename"), std::string::npos) << "nothing is pinned";
}

// With a cover there is something to rename, and with a network other probes apply.
TEST_P(Verdicts, SelfTestFollowsThePlan) {
  REQUIRE_CONFINEMENT();
  Lab lab(GetParam());
  lab.make_directory("hooks");
  Seen covered = lab.run({"/bin/ls"}, {"--self-test", "--protect", lab.workspace() + "/hooks"});
  EXPECT_NE(covered.err.find("self-test pinned-rename 1 EBUSY"), std::string::npos) << covered.err;
  EXPECT_NE(covered.out.find("hooks\n"), std::string::npos);
  Seen loopback = lab.run({"/bin/true"}, {"--self-test", "--loopback"});
  EXPECT_NE(loopback.err.find("self-test tcp-socket 1 ECONNREFUSED"), std::string::npos) << loopback.err;
  EXPECT_NE(loopback.err.find("self-test network-namespace 1 ECONNREFUSED"), std::string::npos) << loopback.err;
  Seen host = lab.run({"/bin/true"}, {"--self-test", "--host-network", "--port", "443"});
  EXPECT_NE(host.err.find("self-test tcp-socket 1 EACCES"), std::string::npos) << host.err;
  EXPECT_NE(host.err.find("self-test abstract-socket 1 EPERM"), std::string::npos) << host.err;
  EXPECT_EQ(host.err.find("network-namespace"), std::string::npos) << host.err;
}

}  // namespace
}  // namespace oncelatch::sandbox
