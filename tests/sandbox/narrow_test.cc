// oncelatch-narrow: what it refuses to start, and what a program behind it can't do any more. The probe stands in
// tmux's place, under tmux's very rules.
#include "sandbox/narrow.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

namespace fs = std::filesystem;

class Narrow : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_CONFINEMENT();
    char name[] = "/tmp/oncelatch-narrow-XXXXXX";
    base_ = ::mkdtemp(name);
    for (const char* directory : {"tmux", "home"}) ::mkdir(at(directory).c_str(), 0700);
    for (const char* file : {"secret", "record.jsonl", "home/token", "tmux/own"}) std::ofstream(at(file)) << "text";
    listener_ = listen_at(at("front.sock"));
  }
  void TearDown() override {
    if (!base_.empty()) fs::remove_all(base_);
  }
  [[nodiscard]] std::string at(const std::string& name) const { return base_ + "/" + name; }
  [[nodiscard]] static Fd listen_at(const std::string& path) {
    Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), address.sun_path);
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener.get(), 4), 0);
    return listener;
  }
  [[nodiscard]] static Seen run(std::vector<std::string> command, const std::vector<std::string>& words) {
    Spawn spawn;
    spawn.path = command.front();
    spawn.argv = std::move(command);
    spawn.argv.insert(spawn.argv.end(), words.begin(), words.end());
    spawn.environment = {"PATH=/usr/bin:/bin"};
    return run_program(spawn);
  }
  [[nodiscard]] static Seen narrow(const std::vector<std::string>& words) {
    return run({tool("oncelatch-narrow")}, words);
  }
  [[nodiscard]] std::vector<std::string> server_command() const {
    return narrow_tmux_server({tool("probe"), tool("deny_syscall"), at("tmux")}).value();
  }

  [[nodiscard]] std::vector<std::string> attempts_to_refuse(const std::string& port, const std::string& own) const {
    return {"read=" + at("secret"),
            "read=" + at("record.jsonl"),
            "append=" + at("record.jsonl"),
            "read=" + at("home/token"),
            "list=" + base_,
            "list=/",
            "list=/proc",
            "read=/proc/self/maps",
            "read=/etc/shadow",
            "read=/etc/hostname",
            "read=/bin/sh",
            "write=" + at("made"),
            "write=/tmp/oncelatch-narrow-made",
            "append=" + at("secret"),
            "truncate=" + at("secret"),
            "unlink=" + at("secret"),
            "unlink=" + at("front.sock"),
            "unix=" + at("front.sock"),
            "socket=1:2:0",
            "mkdir=" + at("tmux/directory"),
            "append=/etc/passwd",
            "append=/usr/lib/os-release",
            "tcp=" + port,
            "fast-open=" + port,
            "listen-tcp=0",
            "udp=127.0.0.1",
            "socket=16:3:0",
            "signal=" + own,
            "vm-read=" + own,
            "ptrace-attach=" + own,
            "ptrace-me",
            "unshare-user",
            "clone-user",
            "mount",
            "io-uring",
            "keyctl",
            "bpf",
            "memfd-exec"};
  }
  [[nodiscard]] std::vector<std::string> attempts_that_work() const {
    return {"read=" + at("tmux/own"),
            "write=" + at("tmux/made"),
            "unlink=" + at("tmux/made"),
            "read=/etc/passwd",
            "read=/usr/lib/os-release",
            "append=/dev/null",
            "append=/dev/ptmx",
            "list=/dev/pts",
            "socket=1:1:0"};
  }

  std::string base_;
  Fd listener_;
};

TEST_F(Narrow, RefusesWhatItDoesntUnderstand) {
  const std::string probe = "run=" + fs::canonical(tool("probe")).string();
  const std::string program = fs::canonical(tool("probe"));
  ASSERT_EQ(::symlink("/tmp", at("link").c_str()), 0);
  const std::vector<std::vector<std::string>> refused = {
      {},
      {"--"},
      {probe},
      {probe, "--", "probe"},
      {"write=/tmp", probe, "--", program},
      {"read", probe, "--", program},
      {"read=", probe, "--", program},
      {"read=tmp", probe, "--", program},
      {"=/tmp", probe, "--", program},
      {"read=" + at("absent"), probe, "--", program},
      {"read=" + at("link"), probe, "--", program},
      {probe, "--", at("absent")},
      {"--", program},
  };
  for (std::vector<std::string> words : refused) {
    if (words.size() > 1) words.push_back("write=" + at("made"));
    const Seen seen = narrow(words);
    EXPECT_EQ(seen.code, 125) << testing::PrintToString(words) << seen.out;
    EXPECT_EQ(seen.err.rfind("oncelatch-narrow: ", 0), 0U) << testing::PrintToString(words) << seen.err;
    EXPECT_EQ(std::count(seen.err.begin(), seen.err.end(), '\n'), 1) << seen.err;
    EXPECT_FALSE(fs::exists(at("made"))) << testing::PrintToString(words);
  }
  const Seen works = narrow({probe, "serve=" + at("tmux"), "--", program, "write=" + at("tmux/made")});
  EXPECT_EQ(works.out, "write=" + at("tmux/made") + " OK\n") << works.err;
}

TEST_F(Narrow, TooManyRulesAreRefused) {
  std::vector<std::string> words(200, "read=/usr/lib");
  words.insert(words.end(), {"--", tool("probe")});
  EXPECT_EQ(narrow(words).code, 125);
}

// Every step that fails once ends in 125, with nothing started.
TEST_F(Narrow, AFailedStepStartsNothing) {
  const std::string program = fs::canonical(tool("probe"));
  if (!fs::exists("/usr/bin/strace")) SKIP_OR_FAIL("no strace on this machine");
  for (const std::string call :
       {"prctl", "capset", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"}) {
    const Seen seen =
        run({"/usr/bin/strace"}, {"-o", "/dev/null", "-e", "inject=" + call + ":error=EIO", tool("oncelatch-narrow"),
                                  "run=" + program, "serve=" + at("tmux"), "--", program, "write=" + at("tmux/made")});
    EXPECT_EQ(seen.code, 125) << call << seen.out;
    EXPECT_NE(seen.err.find("oncelatch-narrow: "), std::string::npos) << call << seen.err;
    EXPECT_FALSE(fs::exists(at("tmux/made"))) << call;
  }
}

TEST_F(Narrow, UnderTheServersRulesNothingElseIsReached) {
  Fd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(tcp.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(tcp.get(), 4), 0);
  ASSERT_EQ(::getsockname(tcp.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(::ntohs(address.sin_port));
  const std::string own = std::to_string(::getpid());
  const std::vector<std::string> refused = attempts_to_refuse(port, own);
  const std::vector<std::string> works = attempts_that_work();
  std::vector<std::string> words = refused;
  words.insert(words.end(), works.begin(), works.end());
  const Seen seen = run(server_command(), words);
  std::map<std::string, std::string> verdicts = seen.verdicts();
  EXPECT_EQ(verdicts.size(), words.size()) << seen.out << seen.err;
  for (const std::string& word : refused) EXPECT_TRUE(verdicts[word][0] == 'E') << word << " " << verdicts[word];
  for (const std::string& word : works) EXPECT_EQ(verdicts[word], "OK") << word;
  EXPECT_FALSE(fs::exists("/tmp/oncelatch-narrow-made"));
  // The same attempts get through without it: the refusals above are its own.
  const Seen bare = run({tool("probe")}, {"read=" + at("secret"), "tcp=" + port, "signal=" + own, "read=/bin/sh",
                                          "unix=" + at("front.sock"), "socket=1:2:0"});
  EXPECT_EQ(std::count(bare.out.begin(), bare.out.end(), '\n'), 6);
  EXPECT_EQ(bare.out.find(" E"), std::string::npos) << bare.out;
}

// A shell that may run itself only: what it builds in works, every program is refused, also by way of the ELF
// interpreter, which it may run.
TEST_F(Narrow, NothingButTheNamedProgramsStarts) {
  const std::string shell = fs::canonical("/bin/sh");
  std::vector<std::string> command = narrow_tmux_server({shell, tool("deny_syscall"), at("tmux")}).value();
  std::string interpreter;
  for (const std::string& word : command) {
    if (word.find("/ld-") != std::string::npos) interpreter = word.substr(word.find('/'));
  }
  ASSERT_FALSE(interpreter.empty());
  const std::string script = "cd " + at("tmux") + "; echo built-in > works; /usr/bin/touch touched; echo $?; " +
                             interpreter + " /usr/bin/touch interpreted; echo $?; " + shell +
                             " -c 'echo again > again'";
  const Seen seen = run(command, {"-c", script});
  EXPECT_TRUE(fs::exists(at("tmux/works"))) << seen.err;
  EXPECT_TRUE(fs::exists(at("tmux/again"))) << seen.err;
  EXPECT_FALSE(fs::exists(at("tmux/touched")));
  EXPECT_FALSE(fs::exists(at("tmux/interpreted")));
  EXPECT_EQ(seen.out, "126\n127\n") << seen.err;
}

TEST_F(Narrow, AClientReachesTheSocketOnly) {
  const std::vector<std::string> client = narrow_tmux_client(tool("probe"), at("tmux"), at("home")).value();
  std::map<std::string, std::string> verdicts =
      run(client, {"write=" + at("tmux/made"), "read=" + at("secret"), "read=" + at("home/token"), "append=/dev/ptmx",
                   "read=/etc/passwd", "socket=1:1:0", "socket=2:1:0"})
          .verdicts();
  EXPECT_EQ(verdicts["write=" + at("tmux/made")], "EACCES");
  EXPECT_EQ(verdicts["read=" + at("secret")], "EACCES");
  EXPECT_EQ(verdicts["read=" + at("home/token")], "EACCES");
  EXPECT_EQ(verdicts["append=/dev/ptmx"], "EACCES");
  EXPECT_EQ(verdicts["socket=2:1:0"], "EAFNOSUPPORT");
  EXPECT_EQ(verdicts["read=/etc/passwd"], "OK");
  EXPECT_EQ(verdicts["socket=1:1:0"], "OK");
  fs::create_directory(at("home/.terminfo"));
  std::ofstream(at("home/.terminfo/own")) << "text";
  const std::vector<std::string> with = narrow_tmux_client(tool("probe"), at("tmux"), at("home")).value();
  EXPECT_EQ(run(with, {"read=" + at("home/.terminfo/own")}).verdicts().begin()->second, "OK");
}

// By the kernel alone: nothing here switches the filter off.
TEST_F(Narrow, GitStartsNothingButItself) {
  const std::string git = "/usr/bin/git";
  if (::access(git.c_str(), X_OK) != 0) GTEST_SKIP() << "no git";
  const std::string repository = at("git-repository");
  fs::create_directory(repository);
  std::vector<std::string> command = narrow_git(git, {repository}).value();
  command.insert(command.end(),
                 {"-C", repository, "-c", "filter.x.clean=touch " + at("git-repository/MARK") + "; cat"});
  EXPECT_EQ(run(command, {"init", "-q", "."}).err, "");
  std::ofstream(repository + "/.gitattributes") << "a filter=x";
  std::ofstream(repository + "/a") << "text";
  EXPECT_NE(run(command, {"add", "a"}).err, "");
  EXPECT_FALSE(fs::exists(repository + "/MARK"));
  std::vector<std::string> other = narrow_git(git, {}).value();
  other.insert(other.end(), {"-C", repository});
  EXPECT_NE(run(other, {"update-ref", "refs/heads/x", "HEAD"}).err, "");
  std::map<std::string, std::string> verdicts =
      run(narrow_git(tool("probe"), {repository}).value(),
          {"write=" + repository + "/made", "write=" + at("made"), "read=" + at("secret"), "socket=2:1:0"})
          .verdicts();
  EXPECT_EQ(verdicts["write=" + repository + "/made"], "OK");
  EXPECT_EQ(verdicts["write=" + at("made")], "EACCES");
  EXPECT_EQ(verdicts["read=" + at("secret")], "OK");
  EXPECT_EQ(verdicts["socket=2:1:0"], "EAFNOSUPPORT");
}

TEST_F(Narrow, CapabilitiesAndPrivilegesAreGone) {
  const std::string cat = fs::canonical("/bin/cat");
  std::vector<std::string> command = narrow_tmux_client(cat, at("tmux"), "").value();
  command.insert(command.begin() + 1, "read=" + at("tmux"));
  const Seen status = run(command, {at("tmux/own")});
  EXPECT_EQ(status.out, "text") << status.err;
  // Its own status can't be read by itself: the test reads it, while the program waits for input that never comes.
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd input(ends[0]);
  const Fd never(ends[1]);
  Spawn spawn;
  spawn.path = command.front();
  spawn.argv = command;
  spawn.keep = {{0, input.get()}};
  Process waiting = std::move(*start(spawn));
  std::string text;
  for (int i = 0; i < 500 && text.find("\nName:\tcat\n") == std::string::npos; ++i) {
    ::usleep(10'000);
    std::ifstream in("/proc/" + std::to_string(waiting.pid()) + "/status");
    text = "\n" + std::string(std::istreambuf_iterator<char>(in), {});
  }
  for (const char* line : {"\nCapInh:\t0000000000000000\n", "\nCapPrm:\t0000000000000000\n",
                           "\nCapEff:\t0000000000000000\n", "\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  if (::geteuid() == 0) {
    EXPECT_NE(text.find("\nCapBnd:\t0000000000000000\n"), std::string::npos) << text;
  }
  EXPECT_TRUE(waiting.signal(SIGKILL));
}

}  // namespace

}  // namespace oncelatch::sandbox
