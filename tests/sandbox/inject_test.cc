// Each call of the set-up fails once: nothing of a failed set-up looks like success. Every system call that the
// launcher, the outer half, the first process inside and the program's process make before the program runs is made to
// fail, one in each start. What comes of it is a refusal that names the step; or, where the call is honestly optional
// (the table below), a start in which everything is refused as ever. ONCELATCH_INJECT_ALL=1 takes every occurrence.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/fd.h"
#include "tests/launcher/scratch.h"
#include "tests/sandbox/bystander.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRuns = 200;  // of EPERM, for each user
constexpr int kNeverMade = 99;          // by fail_call: the kernel's timing made it one call fewer

// As fail_call counts them.
struct Call {
  long process = 0;
  long execs = 0;
  long number = 0;
  long nth = 0;
  std::string role;
  std::string name;
};

struct Optional {
  const char* role;
  std::set<std::string> names;
  const char* why;
};

const Optional kOptional[] = {
    {"launcher",
     {"readlink", "lstat", "getcwd", "access", "stat"},
     "looks for what may be there: a second name, a toolchain, a repository around, a companion elsewhere"},
    {"launcher",
     {"open", "read", "fstat", "getdents64", "pread64", "lseek"},
     "a list or table of the host that is shown inside when it can be read"},
    {"first", {"statx"}, "what can't be compared counts as replaced meanwhile: exec starts again from the beginning"},
    {"launcher", {"fcntl"}, "libc marks a descriptor close-on-exec a second time"},
    {"launcher", {"getrandom"}, "libc's allocator asks for it; the names of the targets can't do without, and refuse"},
    {"launcher", {"uname"}, "the kernel's release: without it kernel.pid_max isn't used beside the other limits"},
    {"launcher",
     {"landlock_create_ruleset", "open_tree", "mount_setattr"},
     "the quick look at the machine; what it promises is proved by entering, and begun again where owners can't be "
     "mapped"},
    {"launcher",
     {"prlimit64"},
     "more descriptors in flight than the soft limit allows, where a session has taken those"},
    {"launcher",
     {"mkdir", "chmod", "socket", "connect", "bind", "listen", "getsockname"},
     "the self-test's targets: the next place is taken; a machine without loopback has none to try"},
    {"launcher", {"fstatfs", "fchown"}, "/dev/stdout of a root's pipe can't be opened by name"},
    {"launcher",
     {"fork", "clone", "wait4", "pipe2", "openat", "write", "newfstatat"},
     "may root's workspace be mapped? If that can't be found out, a note says that it is uid 0 inside"},
    {"launcher",
     {"chown"},
     "gives the targets to the identity a real root hopes for: begun again, whole, with one that was proved"},
    {"launcher", {"unlink", "unlinkat", "rmdir"}, "the next start's sweep removes it"},
    {"launcher", {"poll"}, "a wait that fails is followed by the read that it was for"},
    {"helper", {}, "the process that tries whether a workspace can be mapped"},
    {"first", {"keyctl"}, "a session key ring of its own, beside the filter that refuses every call about keys"},
    {"starter", {"fcntl"}, "libc marks a descriptor close-on-exec a second time"},
    {"outer", {"close_range"}, "what it closes early is close-on-exec, and closed again"},
    {"outer",
     {"setgroups", "setresgid", "setresuid", "prctl"},
     "the identity a real root hopes for: what fails there is begun again, whole, with one that was proved"},
    {"outer", {"ppoll", "wait4"}, "waits again"},
    {"first", {"openat", "write"}, "oom_score_adj is a wish"},
    {"program",
     {"socket", "connect", "readlinkat", "openat", "unshare", "mount", "ioctl", "kill", "ptrace", "io_uring_setup",
      "statx", "unlinkat", "renameat2", "getdents64"},
     "an attempt of the self-test, which fails either way; the program's own name is looked up by descriptor"},
};

// After the program has ended: the exit code and stderr say that the report couldn't be written.
const std::set<std::string> kAtTheEnd = {"poll",   "waitid", "openat2", "getrandom", "fchmod", "open",
                                         "openat", "write",  "fsync",   "renameat",  "fcntl",  "fstat"};

// What can't fail, or never with the arguments it gets, and memory, without which nothing goes on (`operator new`).
const std::set<std::string> kNotFailed = {
    "close",          "getpid", "getppid",        "getuid",     "geteuid",      "getgid",     "getegid",
    "gettid",         "exit",   "umask",          "exit_group", "rt_sigaction", "arch_prctl", "set_tid_address",
    "clock_gettime",  "brk",    "rt_sigprocmask", "mmap",       "munmap",       "madvise",    "execve",
    "restart_syscall"};

std::string fail_call() {
  return std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/fail_call";
}

std::string name_of(long number) {
  char* name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number));
  std::string text = name != nullptr ? name : std::to_string(number);
  ::free(name);
  return text;
}

class Inject : public ::testing::TestWithParam<uid_t> {
 protected:
  void SetUp() override {
    REQUIRE_CONFINEMENT();
    scratch.write("outside/secret", "secret");
    scratch.write("repository/denied", "secret");
    scratch.write("repository/.git/config", "[core]\n");
    fs::copy_file(std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/probe", scratch.path("repository/probe"));
    fs::permissions(scratch.path("repository/probe"), fs::perms(0755));
    for (const char* directory : {"outside", "repository/.git", "repository/probe"})
      if (::geteuid() == 0) {
        ASSERT_EQ(::lchown(scratch.path(directory).c_str(), GetParam(), GetParam()), 0);
      }
    open_listeners();
  }

  void open_listeners() {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    std::string name = scratch.path("outside/socket");
    name.copy(path.sun_path, sizeof path.sun_path - 1);
    unix_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(unix_.get(), reinterpret_cast<sockaddr*>(&path), sizeof path), 0);
    ASSERT_EQ(::listen(unix_.get(), 16), 0);
    if (::geteuid() == 0) {
      ASSERT_EQ(::lchown(name.c_str(), GetParam(), GetParam()), 0);
    }
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof loopback;
    tcp_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(tcp_.get(), reinterpret_cast<sockaddr*>(&loopback), size), 0);
    ASSERT_EQ(::listen(tcp_.get(), 16), 0);
    ASSERT_EQ(::getsockname(tcp_.get(), reinterpret_cast<sockaddr*>(&loopback), &size), 0);
    port_ = std::to_string(ntohs(loopback.sin_port));
  }

  // What must fail inside, and then what must not.
  [[nodiscard]] std::vector<std::string> refused() const {
    std::string outside = scratch.path("outside");
    return {"write=" + outside + "/new",
            "read=" + outside + "/secret",
            "read=" + scratch.path("repository/denied"),
            "append=" + scratch.path("repository/.git/config"),
            "write=/usr/new",
            "write=/new",
            "write=/etc/passwd",
            "read=/proc/1/environ",
            "write=/proc/sys/kernel/hostname",
            "unix=" + outside + "/socket",
            "tcp=" + port_,
            "signal=" + bystander_.number(),
            "ptrace-attach=" + bystander_.number(),
            "unshare-user",
            "mount=/tmp",
            "mknod-char=/tmp/node",
            "setuid-root",
            "capability",
            "keyctl",
            "bpf",
            "io-uring"};
  }
  [[nodiscard]] std::vector<std::string> permitted() const {
    return {"write=" + scratch.path("repository/made"), "read=/etc/passwd", "write=/tmp/made"};
  }

  [[nodiscard]] Output start(const std::vector<std::string>& front) const {
    std::string words;
    for (const auto& list : {refused(), permitted()})
      for (const std::string& word : list) words += " " + word;
    return scratch.oncelatch_behind(
        front, {"exec", "--deny", scratch.path("repository/denied"), "--report", scratch.path("report.json"), "--",
                "/bin/sh", "-c", "echo RAN; ./probe" + words});
  }

  // Everything that had to fail did, and what had to work worked.
  void expect_confined(const std::string& out) const {
    std::istringstream lines(out);
    std::string line;
    ASSERT_TRUE(std::getline(lines, line) && line == "RAN") << out;
    for (const std::string& word : refused()) {
      ASSERT_TRUE(std::getline(lines, line)) << out;
      EXPECT_TRUE(line.starts_with(word + " E")) << line;
    }
    for (const std::string& word : permitted()) {
      ASSERT_TRUE(std::getline(lines, line)) << out;
      EXPECT_EQ(line, word + " OK");
    }
  }

  std::vector<Call> recorded();
  void fail_once(const Call& call, int error);

  Scratch scratch{GetParam()};
  sandbox::Bystander bystander_{GetParam()};
  Fd unix_;
  Fd tcp_;
  std::string port_;
  int refusals_ = 0;
  int starts_ = 0;
};

// As fail_call numbers them.
bool descends(long process, long from) {
  while (process > from) process /= 1024;
  return process == from;
}

// Names the processes by what they do: the one that makes namespaces is the outer half, and so on.
void give_roles(std::vector<Call>& calls) {
  long outer = -1;
  long first = -1;
  long program = -1;
  for (Call& call : calls) {
    call.name = name_of(call.number);
    if (call.name == "clone3" && call.execs > 0) outer = call.process;
    if (call.name == "pivot_root") first = call.process;
    if (call.name == "execveat" && call.execs == 0) program = call.process;
  }
  for (Call& call : calls) {
    call.role = "helper";
    if (call.process == 0) call.role = "launcher";
    if (call.process == outer) call.role = call.execs == 0 ? "starter" : "outer";
    if (call.process == first) call.role = "first";
    if (program >= 0 && descends(call.process, program)) call.role = "after";
    if (call.process == program && call.execs == 0) call.role = "program";
  }
}

// A start as it is, and the calls that its set-up made.
std::vector<Call> Inject::recorded() {
  std::string list = scratch.path("calls");
  Output plain = start({fail_call(), "list", list});
  EXPECT_EQ(plain.status.shell_code(), 0) << plain.err;
  expect_confined(plain.out);
  std::istringstream lines(scratch.read("calls"));
  std::vector<Call> calls;
  long launcher_execs = 0;
  for (Call call; lines >> call.process >> call.execs >> call.number >> call.nth;) {
    calls.push_back(call);
    if (call.process == 0) launcher_execs = std::max(launcher_execs, call.execs);
  }
  give_roles(calls);
  std::vector<Call> kept;
  bool watching = false;  // the first process has started the program: how often it looks at limits is up to time
  const std::set<std::string> last = {"dup3", "close_range", "signalfd4"};
  for (const Call& call : calls) {
    bool before = call.role == "launcher" && call.execs < launcher_execs;  // setpriv
    bool looking = call.role == "first" && watching && last.count(call.name) == 0;
    watching |= call.role == "first" && call.name == "clone";
    if (!before && !looking && call.role != "after" && kNotFailed.count(call.name) == 0) kept.push_back(call);
  }
  return kept;
}

// All, or of each process's calls of one name as many as fit, spread evenly.
std::vector<Call> chosen(const std::vector<Call>& calls) {
  if (::getenv("ONCELATCH_INJECT_ALL") != nullptr) return calls;
  std::map<std::tuple<long, long, long>, std::vector<Call>> groups;
  for (const Call& call : calls) groups[{call.process, call.execs, call.number}].push_back(call);
  std::vector<Call> best;
  for (std::size_t most = 1; most < 64; ++most) {
    std::vector<Call> some;
    for (const auto& [key, group] : groups) {
      std::size_t count = std::min(most, group.size());
      for (std::size_t i = 0; i < count; ++i)
        some.push_back(group[count == 1 ? 0 : i * (group.size() - 1) / (count - 1)]);
    }
    if (some.size() > kMostRuns && !best.empty()) break;
    best = std::move(some);
  }
  return best;
}

bool optional(const Call& call) {
  return std::any_of(std::begin(kOptional), std::end(kOptional), [&](const Optional& row) {
    return call.role == row.role && (row.names.empty() || row.names.count(call.name) != 0);
  });
}

// The program runs beside the last steps of the two processes that stay; one that fails ends everything.
bool may_have_run(const Call& call) {
  if (call.role == "launcher") return kAtTheEnd.count(call.name) != 0;
  return (call.role == "outer" || call.role == "first") &&
         std::set<std::string>{"dup3", "close_range", "signalfd4", "prctl"}.count(call.name) != 0;
}

void Inject::fail_once(const Call& call, int error) {
  SCOPED_TRACE(call.role + ": " + call.name + " #" + std::to_string(call.nth) + " fails with " + ::strerror(error));
  ::unlink(scratch.path("repository/made").c_str());
  Output output = start({fail_call(), "fail", std::to_string(call.process), std::to_string(call.execs),
                         std::to_string(call.number), std::to_string(call.nth), std::to_string(error)});
  int code = output.status.shell_code();
  bool ran = output.out.find("RAN") != std::string::npos;
  if (ran && code == 0) expect_confined(output.out);
  for (const std::string& word : refused())  // also of a program that was ended half-way
    EXPECT_THAT(output.out, ::testing::Not(::testing::HasSubstr(word + " OK")));
  if (code == kNeverMade) return;
  if (code == 0) {
    EXPECT_TRUE(ran) << "success without the program's output\n" << output.err;
    EXPECT_TRUE(optional(call)) << "a failed step was passed over\n" << output.err;
    ++starts_;
  } else {
    EXPECT_THAT(code, ::testing::AnyOf(121, 122, 125, 126, 127)) << output.err;
    EXPECT_TRUE(output.err.starts_with("oncelatch: ")) << output.err;
    const std::string first = output.err.substr(0, output.err.find('\n'));
    EXPECT_GE(std::count(first.begin(), first.end(), ':'), 2) << output.err;
    EXPECT_TRUE(!ran || may_have_run(call)) << "the program ran in a start that failed\n" << output.err;
    ++refusals_;
  }
  if (code == 0 && scratch.report().value("confined_uid", -1) == 0) {
    EXPECT_THAT(output.err, ::testing::HasSubstr("note:")) << "uid 0 inside is told";
  }
  EXPECT_THAT(scratch.processes_left(), ::testing::IsEmpty());
}

// Targets of the self-test; root's belong to users that only exist in sandboxes.
std::set<std::string> planted_by(uid_t user) {
  std::set<std::string> found;
  std::error_code error;
  for (const char* place : {"/dev/shm", "/run", "/tmp", "/var/tmp"})
    for (const auto& entry : fs::directory_iterator(place, error)) {
      struct stat info {};
      bool ours = ::lstat(entry.path().c_str(), &info) == 0 && (user == 0 || info.st_uid == user);
      if (ours && entry.path().filename().string().starts_with("oncelatch-probe-")) found.insert(entry.path());
    }
  return found;
}

// One whose removal was made to fail has no socket any more: sweeps leave it a minute, in case it is being made.
void remove_half_removed(const std::string& directory) {
  struct stat info {};
  constexpr std::time_t kSettled = 3;
  if (::lstat(directory.c_str(), &info) != 0 || std::time(nullptr) - info.st_ctime < kSettled) return;
  std::error_code error;
  if (!fs::exists(directory + "/socket", error)) fs::remove_all(directory, error);
}

TEST_P(Inject, NothingOfAFailedSetUpLooksLikeSuccess) {
  std::set<std::string> before = planted_by(GetParam());
  std::vector<Call> calls = recorded();
  ASSERT_GT(calls.size(), 300U);
  for (const Call& call : chosen(calls)) {
    fail_once(call, EPERM);
    if (call.nth == 1 && call.role != "launcher" && call.role != "helper") fail_once(call, ENOMEM);
    if (call.nth == 1 && (call.role == "outer" || call.role == "first")) fail_once(call, ENOSYS);
  }
  std::printf("%zu calls: %d starts refused, %d not needed\n", calls.size(), refusals_, starts_);
  EXPECT_GT(refusals_, 100);
  expect_confined(start({"/usr/bin/env"}).out);  // sweeps
  auto clean = [&] {
    std::set<std::string> now = planted_by(GetParam());
    return std::all_of(now.begin(), now.end(), [&](const std::string& path) {
      if (before.count(path) != 0) return true;
      remove_half_removed(path);
      return ::access(path.c_str(), F_OK) != 0;
    });
  };
  EXPECT_TRUE(eventually(clean, std::chrono::seconds(20))) << ::testing::PrintToString(planted_by(GetParam()));
  EXPECT_THAT(scratch.session_directories(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Users, Inject, ::testing::ValuesIn(test::users()), [](const auto& one) {
  return one.param == 0 ? std::string("Root") : std::string("OrdinaryUser");
});

}  // namespace
}  // namespace oncelatch::test
