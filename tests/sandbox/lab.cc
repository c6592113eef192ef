#include "tests/sandbox/lab.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sandbox/enter.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 20;

Fd listen_at(const std::string& name, bool abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + (abstract ? 1 : 0), name.data(), name.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0) << name;
  EXPECT_EQ(::listen(fd.get(), 4), 0);
  return fd;
}

uid_t owner_for(Launch launch) {
  if (launch == Launch::root_as_root || launch == Launch::root_mapped) return 0;
  return ::geteuid() == 0 ? kOrdinaryUser : ::geteuid();
}

}  // namespace

std::string launch_name(const testing::TestParamInfo<Launch>& info) {
  switch (info.param) {
    case Launch::root_as_root:
      return "root_as_root";
    case Launch::root_as_user:
      return "root_as_user";
    case Launch::root_mapped:
      return "root_mapped";
    case Launch::user:
      return "user";
  }
  return "";
}

std::vector<Launch> possible_launches() {
  if (::geteuid() != 0) return {Launch::user};
  return {Launch::root_as_root, Launch::root_as_user, Launch::root_mapped, Launch::user};
}

std::map<std::string, std::string> Seen::verdicts() const {
  std::map<std::string, std::string> result;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::size_t space = line.rfind(' ');
    if (space != std::string::npos) result[line.substr(0, space)] = line.substr(space + 1);
  }
  return result;
}

std::string tool(const std::string& name) {
  Result<std::string> path = find_companion(name);
  EXPECT_TRUE(path) << name;
  return path ? *path : std::string();
}

Seen run_program(const Spawn& spawn) {
  Result<Output> output = run_bounded(spawn, kMostOutput, std::chrono::seconds(60));
  EXPECT_TRUE(output) << output.error().message();
  if (!output) return {};
  return {output->status.shell_code(), output->out, output->err};
}

Lab::Lab(Launch launch) : Lab(launch, owner_for(launch)) {}

Lab::Lab(Launch launch, uid_t owner) : launch_(launch), uid_(owner) {
  char name[] = "/var/tmp/oncelatch-lab-XXXXXX";
  base_ = ::mkdtemp(name);
  ::chmod(base_.c_str(), 0755);
  workspace_ = base_ + "/workspace";
  outside_ = base_ + "/outside";
  for (const std::string& path : {workspace_, outside_}) {
    EXPECT_EQ(::mkdir(path.c_str(), 0755), 0);
    own(path);
  }
  std::filesystem::copy_file(tool("probe"), probe());
  plant();
}

Lab::~Lab() {
  std::error_code ignored;
  std::filesystem::remove_all(base_, ignored);
}

void Lab::own(const std::string& path) const {
  if (::geteuid() == 0) {
    EXPECT_EQ(::lchown(path.c_str(), uid_, uid_), 0) << path;
  }
}

void Lab::plant() {
  std::ofstream(outside_ + "/secret") << "planted\n";
  own(outside_ + "/secret");
  path_listener_ = listen_at(outside_ + "/socket", false);
  own(outside_ + "/socket");
  abstract_ = "oncelatch-lab" + base_.substr(base_.rfind('-'));
  abstract_listener_ = listen_at(abstract_, true);
}

void Lab::write(const std::string& name, const std::string& content, mode_t mode) const {
  std::string path = workspace_ + "/" + name;
  std::ofstream(path) << content;
  ::chmod(path.c_str(), mode);
  own(path);
}

void Lab::make_directory(const std::string& name) const {
  EXPECT_EQ(::mkdir((workspace_ + "/" + name).c_str(), 0755), 0) << name;
  own(workspace_ + "/" + name);
}

void Lab::make_repository() const {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"init", "-q", "-b", "main"},
                                                {"config", "user.email", "a@b"},
                                                {"config", "user.name", "n"}}) {
    Spawn spawn;
    spawn.path = "/usr/bin/git";
    spawn.argv = {"git", "-c", "safe.directory=*", "-C", workspace_};
    spawn.argv.insert(spawn.argv.end(), words.begin(), words.end());
    EXPECT_EQ(run_program(spawn).code, 0) << words[0];
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(workspace_ + "/.git")) own(entry.path());
  own(workspace_ + "/.git");
}

std::vector<std::string> Lab::command(const std::vector<std::string>& options,
                                      const std::vector<std::string>& program) const {
  std::vector<std::string> words = {"sandbox_runner"};
  if (launch_ == Launch::root_mapped) {
    words.push_back("--as-root-mapped");
  } else if (::geteuid() == 0) {
    words.push_back(launch_ == Launch::user ? "--become" : "--uid");
    words.push_back(std::to_string(uid_));
  }
  for (const char* variable :
       {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/agent", "LANG=C.UTF-8", "TERM=xterm", "TMPDIR=/tmp"}) {
    words.push_back("--env");
    words.push_back(variable);
  }
  words.push_back("--workspace");
  words.push_back(workspace_);
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

Spawn Lab::spawn(const std::vector<std::string>& options, const std::vector<std::string>& program) const {
  Spawn spawn;
  spawn.path = tool("sandbox_runner");
  spawn.argv = command(options, program);
  return spawn;
}

Seen Lab::run(const std::vector<std::string>& program, const std::vector<std::string>& options) const {
  return run_program(spawn(options, program));
}

std::map<std::string, std::string> Lab::attempts(const std::vector<std::string>& words,
                                                 const std::vector<std::string>& options) const {
  std::vector<std::string> program = {probe()};
  program.insert(program.end(), words.begin(), words.end());
  Seen seen = run(program, options);
  EXPECT_EQ(seen.code, 0) << seen.err;
  return seen.verdicts();
}

}  // namespace oncelatch::sandbox
