// Standard streams of `oncelatch exec`: what they are inside, that every byte passes both ways, that ends and
// back-pressure pass too; and the environment that goes with them.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstring>
#include <fstream>
#include <random>

#include "base/fd.h"
#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Pipe {
  Fd read;
  Fd write;
};
Pipe make_pipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string inode_of(int fd) {
  struct stat info {};
  ::fstat(fd, &info);
  return std::to_string(info.st_ino);
}

std::string everything(int fd) {
  std::string all;
  std::vector<char> buffer(std::size_t{1} << 16);
  for (ssize_t got = 0; (got = ::read(fd, buffer.data(), buffer.size())) > 0;)
    all.append(buffer.data(), static_cast<std::size_t>(got));
  return all;
}

std::string random_bytes(std::size_t size) {
  std::mt19937_64 random(4711);
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  return bytes;
}

class ExecStreams : public Exec {
 protected:
  [[nodiscard]] Process start(const Words& options, const Words& command, const std::map<int, int>& keep) const {
    Spawn spawn = scratch.spawn(all(options, command));
    spawn.keep = keep;
    Result<Process> process = oncelatch::start(spawn);
    EXPECT_TRUE(process);
    return process ? std::move(*process) : Process();
  }
  static int code_of(Process& process) {
    Result<ExitStatus> status = process.wait(std::chrono::seconds(40));
    return status ? status->shell_code() : -1;
  }
  [[nodiscard]] Fd open_file(const std::string& name, int flags) const {
    Fd file(::open(path(name).c_str(), flags | O_CLOEXEC, 0644));
    EXPECT_TRUE(file) << name;
    return file;
  }
};

TEST_P(ExecStreams, APipeIsHandedOnAsItIs) {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  // stdout is the file that the shell redirects: asked for by another number.
  Process process =
      start({}, {"sh", "-c", "exec 3>&1; stat -L -c '%F %i' /proc/self/fd/0 /proc/self/fd/3 /proc/self/fd/2 > kinds"},
            {{0, in.read.get()}, {1, out.write.get()}, {2, err.write.get()}});
  EXPECT_EQ(code_of(process), 0);
  EXPECT_EQ(scratch.read("repository/kinds"), "fifo " + inode_of(in.read.get()) + "\nfifo " + inode_of(out.read.get()) +
                                                  "\nfifo " + inode_of(err.read.get()) + "\n");
}

TEST_P(ExecStreams, FilesAndSocketsBecomePipes) {
  scratch.write("input", "from the file\n", 0644);
  scratch.write("output", "", 0644);
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Fd ours(pair[0]);
  Fd theirs(pair[1]);
  Fd input = open_file("input", O_RDONLY);
  Fd output = open_file("output", O_WRONLY | O_APPEND);
  Process process = start(
      {},
      {"sh", "-c",
       "cat; echo to the socket >&2; exec 3>&1; stat -L -c %F /proc/self/fd/0 /proc/self/fd/3 /proc/self/fd/2 > kinds"},
      {{0, input.get()}, {1, output.get()}, {2, theirs.get()}});
  theirs.reset();
  EXPECT_EQ(code_of(process), 0);
  EXPECT_EQ(scratch.read("repository/kinds"), "fifo\nfifo\nfifo\n");
  EXPECT_EQ(scratch.read("output"), "from the file\n");
  EXPECT_EQ(everything(ours.get()), "to the socket\n");
}

// No file of the launcher takes a closed one's number; what stands there fails as a closed one does.
TEST_P(ExecStreams, ClosedOnesStayUseless) {
  for (const char* closing : {"exec \"$@\" <&-", "exec \"$@\" >&-", "exec \"$@\" <&- >&-", "exec \"$@\""}) {
    bool no_input = std::string(closing).find('<') != std::string::npos;
    bool no_output = std::string(closing).find('>') != std::string::npos;
    Output output =
        scratch.oncelatch_behind({"/bin/sh", "-c", closing, "sh"},
                                 all({}, {"sh", "-c", "cat 2>in; echo $? >code; /bin/echo x 2>out; echo $? >>code"}));
    EXPECT_EQ(output.status.shell_code(), 0) << closing << output.err;
    EXPECT_EQ(scratch.read("repository/code"), std::string(no_input ? "1\n" : "0\n") + (no_output ? "1\n" : "0\n"))
        << closing;
    EXPECT_THAT(scratch.read("repository/in"), HasSubstr(no_input ? "Bad file descriptor" : ""));
    EXPECT_EQ(output.out, no_output ? "" : "x\n");
  }
}

TEST_P(ExecStreams, EveryByteBothWays) {
  const std::string bytes = random_bytes(std::size_t{20} << 20);
  scratch.write("input", bytes, 0644);
  scratch.write("output", "", 0644);
  {  // file to file: through pipes of ours
    Fd input = open_file("input", O_RDONLY);
    Fd output = open_file("output", O_WRONLY);
    Process process = start({}, {"cat"}, {{0, input.get()}, {1, output.get()}});
    EXPECT_EQ(code_of(process), 0);
    EXPECT_TRUE(scratch.read("output") == bytes);
  }
  Fd input = open_file("input", O_RDONLY);  // file to pipe; with the runner's filter between
  Pipe out = make_pipe();
  Process process = start({"--profile", "ci"}, {"cat"}, {{0, input.get()}, {1, out.write.get()}});
  out.write.reset();
  std::string got = everything(out.read.get());
  EXPECT_EQ(code_of(process), 0);
  std::string mark = "|oncelatch|";
  for (std::size_t at = 0; (at = got.find(mark, at)) != std::string::npos;) got.erase(at, mark.size());
  EXPECT_TRUE(got == bytes);
}

TEST_P(ExecStreams, CiTakesTheForceOutOfRunnerCommands) {
  Output output =
      shell("printf '::set-env name=PATH::/x\\nplain ::text:: stays\\n'; echo '##[set-env]' >&2", {"--profile", "ci"});
  EXPECT_THAT(output.out,
              AllOf(Not(HasSubstr("PATH::/x")), HasSubstr("|oncelatch|"), HasSubstr("plain ::text:: stays\n")));
  EXPECT_THAT(output.err, Not(HasSubstr("##[")));
  EXPECT_EQ(shell("printf '::set-env name=PATH::/x\\n'").out, "::set-env name=PATH::/x\n") << "no runner reads it";
}

TEST_P(ExecStreams, AReaderThatGoesAway) {
  Pipe out = make_pipe();
  Process process = start({}, {"yes"}, {{1, out.write.get()}});
  out.write.reset();
  char some[100];
  EXPECT_GT(::read(out.read.get(), some, sizeof some), 0);
  out.read.reset();
  EXPECT_EQ(code_of(process), 128 + SIGPIPE);
  int pair[2];  // through a pipe of ours
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Fd ours(pair[0]);
  Fd theirs(pair[1]);
  Process second = start({}, {"yes"}, {{1, theirs.get()}});
  theirs.reset();
  EXPECT_GT(::read(ours.get(), some, sizeof some), 0);
  ours.reset();
  EXPECT_EQ(code_of(second), 128 + SIGPIPE);
}

TEST_P(ExecStreams, TheEndOfInputPasses) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Fd ours(pair[0]);
  Fd theirs(pair[1]);
  Pipe out = make_pipe();
  Process process = start({}, {"sh", "-c", "cat; echo end"}, {{0, theirs.get()}, {1, out.write.get()}});
  theirs.reset();
  out.write.reset();
  ASSERT_EQ(::write(ours.get(), "words\n", 6), 6);
  ours.reset();
  EXPECT_EQ(everything(out.read.get()), "words\nend\n");
  EXPECT_EQ(code_of(process), 0);
}

long resident_kilobytes(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  return -1;
}

TEST_P(ExecStreams, AFloodWaitsForASlowReader) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Fd ours(pair[0]);
  Fd theirs(pair[1]);
  constexpr std::size_t kAll = std::size_t{200} << 20;
  Process process = start({}, {"head", "-c", std::to_string(kAll), "/dev/zero"}, {{1, theirs.get()}});
  theirs.reset();
  ::usleep(300'000);  // nobody reads
  std::size_t got = 0;
  std::vector<char> buffer(std::size_t{1} << 18);
  for (ssize_t size = 0; (size = ::read(ours.get(), buffer.data(), buffer.size())) > 0;)
    got += static_cast<std::size_t>(size);
  EXPECT_EQ(got, kAll);
  Process slow;  // its memory at the most, seen while it waits
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Fd reader(pair[0]);
  Fd writer(pair[1]);
  slow = start({}, {"head", "-c", std::to_string(kAll), "/dev/zero"}, {{1, writer.get()}});
  writer.reset();
  for (int i = 0; i < 400 && ::read(reader.get(), buffer.data(), buffer.size()) > 0; ++i) {
  }
  long most = resident_kilobytes(slow.pid());
  EXPECT_GT(most, 0);
  EXPECT_LT(most, 16 << 10);
  EXPECT_EQ(code_of(process), 0);
}
EXEC_USERS(ExecStreams);

// Whoever is slow gets all of it.
TEST_P(ExecStreams, SlowReadersLoseNothing) {
  for (const char* profile : {"workstation", "ci"}) {
    Spawn spawn = scratch.spawn(all({"--profile", profile}, {"seq", "1", "60000"}));
    const std::string command = shell_words(spawn);
    spawn.path = "/bin/sh";
    spawn.argv = {"sh", "-c", command + " | (sleep 1; tail -n 1)"};
    Result<Output> output = run_bounded(std::move(spawn), 4096, std::chrono::seconds(30));
    ASSERT_TRUE(output);
    EXPECT_EQ(output->out, "60000\n") << profile << output->err;
  }
}

// A loop over a file's lines goes on with the next one.
TEST_P(ExecStreams, AFilesRestIsGivenBack) {
  scratch.write("lines", "one\ntwo\nthree\n", 0644);
  Spawn spawn = scratch.spawn(all({}, {"true"}));
  Spawn reader = scratch.spawn(all({}, {"sh", "-c", "read a; echo in $a"}));
  const std::string first = shell_words(spawn);
  const std::string second = shell_words(reader);
  spawn.path = "/bin/bash";
  spawn.argv = {"bash", "-c",
                "{ read x; echo $x; " + first + "; " + second + "; read y; echo $y; } < " + path("lines")};
  Result<Output> output = run_bounded(std::move(spawn), 4096, std::chrono::seconds(30));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "one\nin two\nthree\n") << output->err;
}

// The mode of a named pipe is the host's.
TEST_P(ExecStreams, ANamedPipeIsNotHandedIn) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  Fd end(::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC));
  Spawn spawn = scratch.spawn(all({}, {"sh", "-c", "echo hello; chmod 777 /proc/self/fd/1; exit 0"}));
  spawn.keep[1] = end.get();
  Result<Process> process = oncelatch::start(spawn);
  ASSERT_TRUE(process);
  ASSERT_TRUE(process->wait(std::chrono::seconds(20)));
  struct stat info {};
  ASSERT_EQ(::stat(path("pipe").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  char text[32] = {};
  EXPECT_EQ(::read(end.get(), text, sizeof text - 1), 6);
}

class ExecEnvironment : public Exec {
 protected:
  [[nodiscard]] std::set<std::string> names(const std::string& text) const {
    std::istringstream in(text);
    std::set<std::string> all;
    for (std::string line; std::getline(in, line, '\0');) all.insert(line.substr(0, line.find('=')));
    return all;
  }
};

// B017
TEST_P(ExecEnvironment, B017ExactlyTheList) {
  Words many;
  for (const char* name : {"GITHUB_TOKEN", "NPM_TOKEN", "DATABASE_URL", "SSH_AUTH_SOCK", "KUBECONFIG", "GPG_AGENT_INFO",
                           "DBUS_SESSION_BUS_ADDRESS", "ACME_PW", "my_lower_secret", "X", "AWS_SECRET_ACCESS_KEY"})
    many.push_back(std::string(name) + "=canary-4711");
  for (int i = 0; i < 50; ++i) many.push_back("SECRET_" + std::to_string(i) + "=canary-4711");
  Output output = changed({}, {"env", "-0"}, environment_with(many));
  EXPECT_EQ(names(output.out), (std::set<std::string>{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}));
  EXPECT_THAT(scratch.read("report.json"), AllOf(Not(HasSubstr("canary")), HasSubstr("GITHUB_TOKEN")));
  Json dropped = scratch.report().at("environment").at("dropped");
  EXPECT_TRUE(std::find(dropped.begin(), dropped.end(), "my_lower_secret") != dropped.end());
  Output tree = changed({}, {"sh", "-c", "cat /proc/[0-9]*/environ | grep -c canary"}, environment_with(many));
  EXPECT_EQ(tree.out, "0\n");
}

// B020
TEST_P(ExecEnvironment, B020StrangeNamesAndValues) {
  const std::string value = "$(touch /tmp/pwn-4711) `id` \"'\\ \xff\xfe\nX=1";
  Output output = changed({"--pass-env", "STRANGE", "--env", "MINE=" + value}, {"env", "-0"},
                          environment_with({"BASH_FUNC_module%%=() {\n echo x\n}", "ProgramFiles(x86)=x",
                                            "LC_ALL=C\nX=1", "STRANGE=" + value, "no-equals", "=C:=x"}));
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  std::string text = '\0' + output.out;
  for (const std::string& whole : {"STRANGE=" + value, "MINE=" + value, std::string("LC_ALL=C\nX=1")})
    EXPECT_NE(text.find('\0' + whole + '\0'), std::string::npos) << whole;
  EXPECT_EQ(names(output.out), (std::set<std::string>{"HOME", "LANG", "LC_ALL", "MINE", "PATH", "SHELL", "STRANGE",
                                                      "TERM", "TMPDIR", "USER"}));
  EXPECT_NE(::access("/tmp/pwn-4711", F_OK), 0);
  EXPECT_THAT(scratch.read("report.json"), AllOf(HasSubstr("MINE"), Not(HasSubstr("pwn-4711"))));
}

// B021
TEST_P(ExecEnvironment, B021WhatLoadsCodeNeedsItsExactName) {
  const Words loading = {"LD_PRELOAD=/w/x.so", "LD_AUDIT=/w/x",      "NODE_OPTIONS=--require /w/x.js",
                         "BASH_ENV=/w/x",      "ENV=/w/x",           "PYTHONSTARTUP=/w/x",
                         "PERL5OPT=-x",        "RUBYOPT=-x",         "GIT_SSH_COMMAND=/w/x",
                         "GIT_EXEC_PATH=/w",   "GIT_CONFIG_COUNT=1", "BUN_INSPECT_PRELOAD=/w/x",
                         "LD_LIBRARY_PATH=/w", "NODE_HARMLESS=1"};
  Output pattern = changed({"--pass-env", "NODE_*", "--pass-env", "GIT_*", "--pass-env", "L*", "--pass-env", "P*"},
                           {"env", "-0"}, environment_with(loading));
  EXPECT_EQ(names(pattern.out), (std::set<std::string>{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}));
  Output exact = changed({"--pass-env", "NODE_OPTIONS"}, {"env", "-0"}, environment_with(loading));
  EXPECT_THAT(names(exact.out), ::testing::Contains("NODE_OPTIONS"));
  EXPECT_THAT(exact.err, HasSubstr("note: NODE_OPTIONS makes programs inside load or run something"));
  EXPECT_THAT(scratch.report().at("notes").dump(), HasSubstr("NODE_OPTIONS"));
}

TEST_P(ExecEnvironment, APathWithADotRunsNothingFromTheWorkspace) {
  scratch.write("repository/true", "#!/bin/sh\necho hijacked\n", 0755);
  Words environment = scratch.environment();
  for (std::string& entry : environment)
    if (entry.starts_with("PATH=")) entry = "PATH=.::" + path("repository") + ":/usr/bin:/bin";
  EXPECT_EQ(changed({}, {"true"}, environment).out, "");
  EXPECT_EQ(changed({"--env", "PATH=.:/usr/bin"}, {"true"}, environment).out, "");
  EXPECT_EQ(changed({}, {"./true"}, environment).out, "hijacked\n") << "named, it may run";
}

// B016: home and temporary directory agree, and a socket's path fits.
TEST_P(ExecEnvironment, B016TheHomeIsThereToWorkIn) {
  Output output = shell(R"sh(
      set -e
      for d in .kiro .local/share/kiro-cli .config .cache; do mkdir -p "$HOME/$d"; echo x > "$HOME/$d/f"; done
      echo x > "$TMPDIR/f"
      test "$(stat -c '%a %u' "$HOME")" = "700 $(id -u)"
      getent passwd "$(id -u)" | cut -d: -f6
      python3 -c '
import os, socket
socket.socket(socket.AF_UNIX).bind(os.environ["HOME"] + "/.cache/socket")
print("bound")')sh");
  EXPECT_EQ(output.out, "/home/agent\nbound\n") << output.err;
}

// B019: a secret that is passed is in the environment of the program alone: no argument, no file that others can read.
TEST_P(ExecEnvironment, B019ASecretIsPassedToTheProgramOnly) {
  const std::string canary = "canary-" + std::to_string(::getpid()) + "-4711";
  Spawn spawn = scratch.spawn(reported({"--pass-env", "KIRO_API_KEY"}, {"sh", "-c", ": > up; read line"}));
  spawn.environment = environment_with({"KIRO_API_KEY=" + canary});
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd reader(ends[0]);
  Fd writer(ends[1]);
  spawn.keep[0] = reader.get();
  Result<Process> process = oncelatch::start(spawn);
  ASSERT_TRUE(process);
  ASSERT_TRUE(eventually([&] { return scratch.exists("repository/up"); }));
  const std::vector<ProcessLine> tree = process_tree(process->pid());
  EXPECT_GE(tree.size(), 4U);
  for (const ProcessLine& one : tree) EXPECT_THAT(one.command, Not(HasSubstr(canary)));
  int files = 0;
  for (const char* place : {"state", "runtime", "repository"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(place))) {
      if (!entry.is_regular_file()) continue;
      ++files;
      EXPECT_THAT(scratch.read(entry.path().string().substr(path("").size())), Not(HasSubstr(canary))) << entry.path();
    }
  EXPECT_GT(files, 0);
  writer.reset();
  ASSERT_TRUE(process->wait(std::chrono::seconds(20)));
  EXPECT_THAT(scratch.read("report.json"), AllOf(HasSubstr("KIRO_API_KEY"), Not(HasSubstr(canary))));
}

// B024: what a repository writes in .env is nobody's setting.
TEST_P(ExecEnvironment, B024DotEnvIsNotRead) {
  scratch.write("repository/.env",
                "KIRO_API_KEY=evil\nHTTPS_PROXY=http://127.0.0.1:9\nNODE_OPTIONS=--require x\nONCELATCH_PROFILE=none\n",
                0644);
  Output output = run({}, {"env", "-0"});
  EXPECT_EQ(names(output.out), (std::set<std::string>{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}));
  EXPECT_EQ(scratch.report().value("profile", ""), "workstation");
}

// B142
TEST_P(ExecEnvironment, B142BareSurroundings) {
  const std::vector<Words> bare = {
      {}, {"HOME=/"}, {"HOME="}, {"HOME=/nonexistent"}, {"PATH="}, {"TERM=dumb", "LC_ALL=C"}};
  for (const Words& environment : bare) {
    Output output =
        changed({"--report", path("report.json")}, {"sh", "-c", "touch \"$HOME/x\" && echo $HOME $TERM"}, environment);
    EXPECT_EQ(output.out, "/home/agent dumb\n") << ::testing::PrintToString(environment) << output.err;
    EXPECT_EQ(output.err, "");
  }
}

// B142: nobody's uid: no entry in passwd. Its own directories are all it has.
TEST_P(ExecEnvironment, B142AUserNobodyKnows) {
  if (GetParam() == 0) return;  // about an ordinary user
  Output output = changed({}, {"sh", "-c", "id -u; id -un; git --version >/dev/null && echo git"}, {});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.out, AllOf(HasSubstr(std::to_string(GetParam()) + "\n"), HasSubstr("git\n")));
}
EXEC_USERS(ExecEnvironment);

}  // namespace
}  // namespace oncelatch::test
