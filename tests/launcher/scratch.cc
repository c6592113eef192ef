#include "tests/launcher/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/beneath.h"

namespace oncelatch::test {
namespace fs = std::filesystem;

namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::string program(const std::string& name) {
  if (name == "kiro-cli") return std::string(ONCELATCH_BINARY_DIR) + "/tests/agents/kiro/kiro-cli";
  return std::string(ONCELATCH_BINARY_DIR) + "/launcher/" + name;
}

Scratch::Scratch(uid_t user) : user_(user) {
  char pattern[] = "/tmp/oncelatch-test-XXXXXX";
  root_ = ::mkdtemp(pattern);
  give(root_);
  for (const char* name : {"home", "repository", "state", "runtime", "bin"}) {
    ::mkdir(path(name).c_str(), 0700);
    ::chmod(path(name).c_str(), 0700);
    give(path(name));
  }
  if (user_ == ::geteuid()) return;
  // Another user may not be able to reach the build tree.
  for (const char* name :
       {"oncelatch", "oncelatch-session", "oncelatch-exec", "oncelatch-narrow", "oncelatch-relay", "kiro-cli"}) {
    fs::copy_file(program(name), path(std::string("bin/") + name));
    ::chmod(path(std::string("bin/") + name).c_str(), 0755);
    give(path(std::string("bin/") + name));
  }
}

void Scratch::give(const std::string& path) const {
  if (user_ == ::geteuid()) return;
  EXPECT_EQ(::lchown(path.c_str(), user_, user_), 0);
}

Spawn Scratch::spawn(std::vector<std::string> arguments) const {
  return spawn_program(user_ == ::geteuid() ? program("oncelatch") : path("bin/oncelatch"), std::move(arguments));
}

std::string Scratch::on_host(const std::string& script) const {
  Result<Output> output = run_bounded(spawn_program("/bin/sh", {"-c", script}), 65536, std::chrono::seconds(30));
  EXPECT_TRUE(output) << script;
  return output ? output->out + output->err : std::string();
}

Spawn Scratch::spawn_program(const std::string& path, std::vector<std::string> arguments) const {
  Spawn spawn;
  spawn.environment = environment();
  spawn.directory = this->path("repository");
  if (user_ == ::geteuid()) {
    spawn.path = path;
    spawn.argv = {path.substr(path.rfind('/') + 1)};
  } else {
    std::string id = std::to_string(user_);
    spawn.path = "/usr/bin/setpriv";
    spawn.argv = {"setpriv", "--reuid", id, "--regid", id, "--clear-groups", path};
  }
  spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
  return spawn;
}

Scratch::~Scratch() {
  Result<Fd> parent = open_directory("/tmp");
  if (parent) (void)remove_tree(parent->get(), root_.substr(5));
}

void Scratch::write(const std::string& name, const std::string& text, unsigned mode) const {
  fs::create_directories(fs::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << text;
  ::chmod(path(name).c_str(), mode);
  give(path(name));
}

std::string Scratch::read(const std::string& name) const {
  return slurp(path(name));
}

bool Scratch::exists(const std::string& name) const {
  return ::access(path(name).c_str(), F_OK) == 0;
}

std::vector<std::string> Scratch::environment() const {
  return {"HOME=" + path("home"),
          "XDG_STATE_HOME=" + path("state"),
          "XDG_RUNTIME_DIR=" + path("runtime"),
          "PATH=/usr/local/bin:/usr/bin:/bin",
          "TERM=xterm-256color",
          "LANG=C.UTF-8",
          "USER=tester"};
}

Output Scratch::oncelatch(std::vector<std::string> arguments, std::chrono::seconds limit) const {
  Result<Output> output = run_bounded(spawn(std::move(arguments)), std::size_t{8} << 20, limit);
  EXPECT_TRUE(output) << (output ? "" : output.error().message());
  return output ? *output : Output{};
}

Output Scratch::oncelatch_behind(const std::vector<std::string>& front, std::vector<std::string> arguments) const {
  Spawn spawn = this->spawn(std::move(arguments));
  spawn.argv[0] = spawn.path;
  spawn.argv.insert(spawn.argv.begin(), front.begin(), front.end());
  spawn.path = front[0];
  Result<Output> output = run_bounded(std::move(spawn), std::size_t{8} << 20, std::chrono::seconds(60));
  EXPECT_TRUE(output) << (output ? "" : output.error().message());
  return output ? *output : Output{};
}

Process Scratch::start(std::vector<std::string> arguments) const {
  Fd out(::open(path("stdout.txt").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Fd err(::open(path("stderr.txt").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Spawn spawn = this->spawn(std::move(arguments));
  spawn.keep = {{1, out.get()}, {2, err.get()}};
  Result<Process> process = oncelatch::start(spawn);
  EXPECT_TRUE(process) << (process ? "" : process.error().message());
  return process ? std::move(*process) : Process();
}

std::vector<std::string> Scratch::run_arguments(std::vector<std::string> more) const {
  std::vector<std::string> all = {"run",         "kiro",
                                  "--cli-path",  user_ == ::geteuid() ? program("kiro-cli") : path("bin/kiro-cli"),
                                  "--workspace", path("repository"),
                                  "--report",    path("report.json"),
                                  "--events",    path("events.jsonl")};
  if (exists("policy.yaml")) all.insert(all.end(), {"--policy", path("policy.yaml")});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Json Scratch::report() const {
  Result<Json> parsed = parse_json(read("report.json"), {std::size_t{16} << 20, 64, 1'000'000}, "report");
  EXPECT_TRUE(parsed) << read("stderr.txt");
  return parsed ? *parsed : Json::object();
}

std::vector<Json> Scratch::events() const {
  return json_lines(read("events.jsonl"));
}

Json Scratch::wait_event(const std::string& kind, std::size_t number, std::chrono::seconds limit) const {
  Json found;
  bool came = eventually(
      [&] {
        std::size_t count = 0;
        for (const Json& event : events()) {
          if (event.value("event", "") == kind && ++count == number) {
            found = event;
            return true;
          }
        }
        return false;
      },
      limit);
  EXPECT_TRUE(came) << "no event " << kind << " number " << number << "\n"
                    << read("events.jsonl") << read("stderr.txt");
  return found;
}

std::vector<std::string> Scratch::session_directories() const {
  std::vector<std::string> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path("runtime/oncelatch"), error))
    all.push_back(entry.path().filename());
  return all;
}

std::vector<int> Scratch::processes_left() const {
  std::vector<int> left;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::string name = entry.path().filename();
    int pid = std::atoi(name.c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    std::string directory = entry.path();
    std::string all = slurp(directory + "/cmdline") + slurp(directory + "/environ");
    if (all.find(root_) != std::string::npos) left.push_back(pid);
  }
  return left;
}

std::vector<ProcessLine> process_tree(int pid) {
  std::vector<ProcessLine> tree;
  std::vector<int> open{pid};
  while (!open.empty()) {
    int next = open.back();
    open.pop_back();
    std::string directory = "/proc/" + std::to_string(next);
    std::string command = slurp(directory + "/cmdline");
    for (char& c : command) c = c == '\0' ? ' ' : c;
    tree.push_back({next, command});
    std::istringstream children(slurp(directory + "/task/" + std::to_string(next) + "/children"));
    for (int child = 0; children >> child;) open.push_back(child);
  }
  return tree;
}

bool is_running(int pid) {
  std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  std::size_t end = stat.rfind(')');
  return end != std::string::npos && end + 2 < stat.size() && stat[end + 2] != 'Z';
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Result<Json> one = parse_json(line, {}, "line");
    if (one) all.push_back(std::move(*one));
  }
  return all;
}

std::string sha256_file(const std::string& path) {
  Spawn spawn;
  spawn.path = "/usr/bin/sha256sum";
  spawn.argv = {"sha256sum", path};
  Result<Output> output = run_bounded(std::move(spawn), 4096, std::chrono::seconds(20));
  return output ? output->out.substr(0, 64) : std::string();
}

}  // namespace oncelatch::test
