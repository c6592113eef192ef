// Standard streams of `oncelatch exec`: what they are inside, that every byte passes both ways, that ends and
// back-pressure pass too.
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

// What the command could write and its receiver can't take is told, and is no success.
TEST_P(ExecStreams, LostOutputIsToldAndNoSuccess) {
  Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  for (const auto& [script, code] : {std::pair("echo text", 125), std::pair("echo text; exit 3", 3)}) {
    Spawn spawn = scratch.spawn(reported({}, {"sh", "-c", script}));
    spawn.keep[1] = full.get();
    Fd errors = Fd(::open(path("errors").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    spawn.keep[2] = errors.get();
    Result<Process> process = oncelatch::start(spawn);
    ASSERT_TRUE(process);
    Result<ExitStatus> status = process->wait(std::chrono::seconds(20));
    ASSERT_TRUE(status);
    EXPECT_EQ(status->shell_code(), code);
    EXPECT_THAT(scratch.read("errors"), HasSubstr("output was lost: No space left on device"));
  }
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

}  // namespace
}  // namespace oncelatch::test
