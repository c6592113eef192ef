// How long what runs inside outlives the process that is killed with SIGKILL: the launcher of `exec`, and of a session
// the front end, the supervisor, the relay and tmux's server. Measured to the exit of the last process inside, by its
// pidfd. Bar: 100 ms. Beside it bubblewrap's launcher with --die-with-parent, and the ratio.
//   build/release/bench/bench_end [ROUNDS]
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/process.h"

namespace {

using namespace oncelatch;
using Clock = std::chrono::steady_clock;

const std::string kLauncher = std::string(ONCELATCH_BINARY_DIR) + "/launcher/oncelatch";
const std::string kAgent = std::string(ONCELATCH_BINARY_DIR) + "/tests/agents/kiro/kiro-cli";

constexpr const char* kPeer = "/usr/bin/bwrap";
constexpr const char* kCommand = "sleep 86399 & setsid sleep 86399 & : > up; wait";

struct Line {
  int pid = 0;
  std::string command;
  bool inside = false;  // below the exec path
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Line> tree_of(int root) {
  std::vector<Line> tree;
  std::vector<std::pair<int, bool>> open{{root, false}};
  while (!open.empty()) {
    auto [pid, inside] = open.back();
    open.pop_back();
    const std::string directory = "/proc/" + std::to_string(pid);
    std::string command = text_of(directory + "/cmdline");
    std::replace(command.begin(), command.end(), '\0', ' ');
    inside = inside || command.find("oncelatch-exec") != std::string::npos;
    tree.push_back({pid, command, inside});
    std::istringstream children(text_of(directory + "/task/" + std::to_string(pid) + "/children"));
    for (int child = 0; children >> child;) open.emplace_back(child, inside);
  }
  return tree;
}

// By the words its command line starts with, behind a directory.
int find(const std::vector<Line>& tree, const std::string& words) {
  for (const Line& line : tree) {
    const std::size_t slash = line.command.rfind('/', line.command.find(' '));
    if (line.command.compare(slash == std::string::npos ? 0 : slash + 1, words.size(), words) == 0) return line.pid;
  }
  return -1;
}

// Waits at most ten seconds for each of them.
double milliseconds_until_gone(const std::vector<Fd>& processes, Clock::time_point since) {
  for (const Fd& process : processes) {
    pollfd one{process.get(), POLLIN, 0};
    if (::poll(&one, 1, 10000) != 1) return -1;
  }
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

struct Kind {
  const char* name;
  const char* victim;  // the words its command line starts with; empty: the program started; "2": its first child
  bool session;
  bool peer = false;
};

// One start, one kill; negative: it could not be measured.
double measure(const std::string& root, const Kind& kind) {
  Spawn spawn;
  spawn.path = kLauncher;
  spawn.environment = {"HOME=" + root + "/home", "XDG_RUNTIME_DIR=" + root + "/runtime", "PATH=/usr/bin:/bin",
                       "XDG_STATE_HOME=" + root + "/state"};
  spawn.directory = root + "/repository";
  if (kind.session)
    spawn.argv = {"oncelatch", "run", "kiro", "--cli-path", kAgent, "--events", root + "/events"};
  else
    spawn.argv = {"oncelatch", "exec", "--", "sh", "-c", kCommand};
  if (kind.peer) {
    spawn.path = kPeer;
    spawn.argv = {
        "bwrap", "--unshare-all", "--die-with-parent",  "--ro-bind",          "/",  "/",  "--dev", "/dev", "--proc",
        "/proc", "--bind",        root + "/repository", root + "/repository", "sh", "-c", kCommand};
  }
  ::unlink((root + "/events").c_str());
  ::unlink((root + "/repository/up").c_str());
  Result<Process> started = start(spawn);
  if (!started) return -1;
  const std::string sign = kind.session ? root + "/events" : root + "/repository/up";
  const std::string word = kind.session ? "waiting_for_permission" : "";
  for (int i = 0; i < 500; ++i) {
    if (::access(sign.c_str(), F_OK) == 0 && text_of(sign).find(word) != std::string::npos) break;
    ::usleep(20000);
  }
  std::vector<Line> tree = tree_of(started->pid());
  int victim = started->pid();
  if (std::string(kind.victim) == "2")
    victim = tree.size() > 1 ? tree[1].pid : -1;
  else if (*kind.victim != 0)
    victim = find(tree, kind.victim);
  std::vector<Fd> inside;
  for (const Line& line : tree)
    if ((line.inside || kind.peer) && line.pid != victim)
      inside.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, line.pid, 0)));
  if (victim < 0 || inside.size() < 2) return -1;
  const Clock::time_point since = Clock::now();
  ::kill(victim, SIGKILL);
  double took = milliseconds_until_gone(inside, since);
  (void)started->wait(std::chrono::seconds(20));
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  const Kind kinds[] = {{"exec: launcher", "", false},         {"run: front end", "", true},
                        {"run: supervisor", "2", true},        {"run: relay", "oncelatch-relay", true},
                        {"run: tmux server", "tmux -D", true}, {"bubblewrap", "", false, true}};
  char pattern[] = "/tmp/oncelatch-bench-XXXXXX";
  const std::string root = ::mkdtemp(pattern);
  for (const char* name : {"/home", "/repository", "/runtime", "/state"}) ::mkdir((root + name).c_str(), 0700);
  std::ofstream(root + "/repository/.kiro-standin.json")
      << R"({"steps": [{"type": "prompt", "tool": "shell", "id": "a", "command": "true"}]})";
  int failed = 0;
  double ours = 0;
  fmt::print("{} rounds each, milliseconds from SIGKILL to the exit of the last process inside (bar 100)\n", rounds);
  for (const Kind& kind : kinds) {
    if (kind.peer && ::access(kPeer, X_OK) != 0) continue;
    std::vector<double> took;
    for (int i = 0; i < rounds; ++i)
      if (double one = measure(root, kind); one >= 0) took.push_back(one);
    std::sort(took.begin(), took.end());
    failed += rounds - static_cast<int>(took.size());
    if (took.empty())
      fmt::print("{:18} not measured\n", kind.name);
    else
      fmt::print("{:18} median {:6.1f}   most {:6.1f}   ({} of {})\n", kind.name, took[took.size() / 2], took.back(),
                 took.size(), rounds);
    if (took.empty()) continue;
    if (&kind == kinds) ours = took[took.size() / 2];
    if (kind.peer) fmt::print("{:18} {:13.2f}   of exec's launcher over it\n", "ratio", ours / took[took.size() / 2]);
  }
  Result<Fd> parent = open_directory("/tmp");
  if (parent) (void)remove_tree(parent->get(), root.substr(5));
  return failed == 0 ? 0 : 1;
}
