// narrow_self() under the supervisor's rules, in a child of the test: what it can't do any more, and all that a
// session's end still needs.
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/beneath.h"
#include "sandbox/narrow.h"
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

namespace fs = std::filesystem;

class NarrowSelf : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_CONFINEMENT();
    char name[] = "/tmp/oncelatch-self-XXXXXX";
    base_ = ::mkdtemp(name);
    for (const char* directory :
         {"run", "run/session", "run/session/home", "run/other", "audit", "report", "workspace", "user"})
      ::mkdir(at(directory).c_str(), 0700);
    for (const char* file :
         {"run/session/home/file", "run/other/lock", "audit/audit.db", "report/old", "workspace/file", "user/file"})
      std::ofstream(at(file)) << "text";
    Spawn spawn;
    spawn.path = "/bin/sleep";
    spawn.argv = {"sleep", "100"};
    bystander_ = std::move(*start(spawn));
  }
  void TearDown() override {
    if (!base_.empty()) fs::remove_all(base_);
  }
  [[nodiscard]] std::string at(const std::string& name) const { return base_ + "/" + name; }

  // 0 for success, an errno otherwise; 201 when it can't be narrowed.
  [[nodiscard]] int narrowed(const std::function<long()>& attempt) const {
    const pid_t child = ::fork();
    if (child == 0) {
      Result<std::vector<NarrowRule>> rules = supervisor_rules(
          {at("run/session"), at("audit"), {at("report")}, {at("workspace")}, {}, {}, "/usr/bin/tmux"});
      if (!rules || !narrow_self(*rules)) ::_exit(201);
      errno = 0;
      ::_exit(attempt() < 0 ? (errno != 0 ? errno : 200) : 0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  [[nodiscard]] int opening(const std::string& path, int flags) const {
    return narrowed([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0600); });
  }
  // Exit code of what a narrowed process starts; 202 when it doesn't start.
  [[nodiscard]] int starting(std::vector<std::string> argv) const {
    return narrowed([&] {
      Spawn spawn;
      spawn.path = argv.front();
      spawn.argv = argv;
      Result<Process> process = start(spawn);
      Result<ExitStatus> status = process ? process->wait(std::chrono::seconds(10)) : Failure(process.error());
      errno = status ? status->shell_code() : 202;
      return status && status->shell_code() == 0 ? 0 : -1;
    });
  }

  std::string base_;
  Process bystander_;
};

TEST_F(NarrowSelf, FilesOutsideArentWrittenOrRead) {
  EXPECT_EQ(opening(at("user/file"), O_WRONLY), EACCES);
  EXPECT_EQ(opening(at("user/file"), O_RDONLY), EACCES);
  EXPECT_EQ(opening(at("user/new"), O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(opening(at("run/other/lock"), O_RDWR), EACCES);
  EXPECT_EQ(opening(at("run/new"), O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(opening("/etc/shadow", O_RDONLY), EACCES);
  EXPECT_EQ(opening("/dev/ptmx", O_RDWR), EACCES);
  EXPECT_EQ(opening("/proc/self/mem", O_RDWR), EACCES);
  EXPECT_EQ(opening(at("report/old"), O_RDONLY), EACCES);
  EXPECT_EQ(narrowed([&] { return ::unlink(at("user/file").c_str()); }), EACCES);
  EXPECT_EQ(narrowed([&] { return ::unlink(at("run/other/lock").c_str()); }), EACCES);
  EXPECT_EQ(narrowed([&] { return ::mkdir(at("user/new").c_str(), 0700); }), EACCES);
  EXPECT_EQ(narrowed([&] { return ::truncate(at("user/file").c_str(), 0); }), EACCES);
  EXPECT_EQ(narrowed([&] { return ::rename(at("audit/audit.db").c_str(), at("user/file").c_str()); }), EACCES);
}

TEST_F(NarrowSelf, WhatIsLookedAtIsReadOnly) {
  EXPECT_EQ(opening(at("workspace/file"), O_RDONLY), 0);
  EXPECT_EQ(opening(at("workspace"), O_RDONLY | O_DIRECTORY), 0);
  EXPECT_EQ(opening(at("workspace/file"), O_WRONLY), EACCES);
  EXPECT_EQ(opening(at("workspace/new"), O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(narrowed([&] { return ::unlink(at("workspace/file").c_str()); }), EACCES);
}

TEST_F(NarrowSelf, ItsOwnFilesAreWritten) {
  EXPECT_EQ(opening(at("run/session/new"), O_WRONLY | O_CREAT), 0);
  EXPECT_EQ(opening(at("audit/audit.db"), O_RDWR | O_TRUNC), 0);
  EXPECT_EQ(opening(at("audit/audit.db-wal"), O_RDWR | O_CREAT), 0);
  EXPECT_EQ(narrowed([&] { return ::unlink(at("audit/audit.db-wal").c_str()); }), 0);
  EXPECT_EQ(opening("/etc/passwd", O_RDONLY), 0);
  EXPECT_EQ(narrowed([&] {
              Result<Fd> report = open_directory(at("report"));
              return report && write_file_atomic(report->get(), "old", "new", 0600) ? 0 : -1;
            }),
            0);
  std::ifstream in(at("report/old"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "new");
}

TEST_F(NarrowSelf, TheSessionsDirectoryIsRemoved) {
  Result<Fd> root = open_directory(at("run"));
  ASSERT_TRUE(root);
  EXPECT_EQ(narrowed([&] { return remove_tree(root->get(), "other") ? 0 : -1; }), EACCES);
  EXPECT_TRUE(fs::exists(at("run/other/lock")));
  EXPECT_EQ(narrowed([&] { return remove_tree(root->get(), "session") ? 0 : -1; }), 0);
  EXPECT_FALSE(fs::exists(at("run/session")));
}

TEST_F(NarrowSelf, NothingStartsButAConfinedTmux) {
  EXPECT_EQ(narrowed([] { return ::execl("/bin/sh", "sh", "-c", "exit 0", nullptr); }), EACCES);
  EXPECT_EQ(narrowed([] { return ::execl("/usr/bin/env", "env", nullptr); }), EACCES);
  const Fd shell(::open("/bin/sh", O_PATH | O_CLOEXEC));
  EXPECT_EQ(narrowed([&] {
              char* argv[] = {const_cast<char*>("sh"), nullptr};
              return ::syscall(SYS_execveat, shell.get(), "", argv, argv + 1, AT_EMPTY_PATH);
            }),
            EPERM);
  EXPECT_EQ(narrowed([] { return ::memfd_create("program", 0); }), EPERM);
  if (::access("/usr/bin/tmux", X_OK) != 0) SKIP_OR_FAIL("no tmux on this machine");
  std::vector<std::string> tmux = narrow_tmux_client("/usr/bin/tmux", at("run/session"), "").value();
  tmux.emplace_back("-V");
  EXPECT_EQ(starting(tmux), 0);
  const std::vector<std::string> shell_behind = {tool("oncelatch-narrow"), "run=/usr/bin/env", "--", "/usr/bin/env"};
  EXPECT_EQ(starting(shell_behind), 125);
}

TEST_F(NarrowSelf, NoNetwork) {
  EXPECT_EQ(narrowed([] { return ::socket(AF_INET, SOCK_STREAM, 0); }), EAFNOSUPPORT);
  EXPECT_EQ(narrowed([] { return ::socket(AF_INET6, SOCK_DGRAM, 0); }), EAFNOSUPPORT);
  EXPECT_EQ(narrowed([] { return ::socket(AF_NETLINK, SOCK_RAW, 0); }), EAFNOSUPPORT);
  EXPECT_EQ(narrowed([] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }), 0);
  // A socket that was open before: Landlock's part.
  const Fd earlier(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto connecting = [&] {
    return ::connect(earlier.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  };
  EXPECT_EQ(narrowed(connecting), EACCES);
  EXPECT_LT(connecting(), 0);
  EXPECT_EQ(errno, ECONNREFUSED) << "without it nothing but a listener is missing";
}

// Children that were started before stand outside of the domain: they must still be ended.
TEST_F(NarrowSelf, ChildrenAreStillSignalled) {
  EXPECT_EQ(narrowed([&] { return bystander_.signal(0) ? 0 : -1; }), 0);
  EXPECT_EQ(narrowed([&] { return ::kill(bystander_.pid(), 0); }), 0);
  EXPECT_EQ(narrowed([&] { return bystander_.signal(SIGKILL) ? 0 : -1; }), 0);
  EXPECT_TRUE(bystander_.wait(std::chrono::seconds(5)));
}

TEST_F(NarrowSelf, ThereIsNoWayBack) {
  EXPECT_EQ(narrowed([] { return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -1; }), 0);
  EXPECT_EQ(narrowed([] { return ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2 ? 0 : -1; }), 0);
  EXPECT_EQ(narrowed([] { return ::syscall(SYS_unshare, 0x10000000); }), EPERM);
  EXPECT_EQ(narrowed([] { return ::syscall(SYS_ptrace, 0, 0, 0, 0); }), EPERM);
  EXPECT_EQ(narrowed([] { return ::syscall(SYS_io_uring_setup, 4, nullptr); }), ENOSYS);
}

TEST_F(NarrowSelf, AnUnknownRuleOrAMissingPlaceIsAnError) {
  const auto error_of = [](const std::vector<NarrowRule>& rules) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(narrow_self(rules) ? 0 : 7);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(error_of({{"write", "/tmp", NarrowRule::Presence::required, "no such word"}}), 7);
  EXPECT_EQ(error_of({{"read", at("absent"), NarrowRule::Presence::required, "missing"}}), 7);
  EXPECT_EQ(error_of({{"read", at("absent"), NarrowRule::Presence::optional, "missing, but not needed"}}), 0);
}

}  // namespace

}  // namespace oncelatch::sandbox
