// Delivery time: from the first frame that shows a prompt to the agent's decision, in the agent's own log, at 16 ms
// frames. Whole runs of oncelatch beside a driver with the fixed sleeps of the specification (one tmux client a call;
// accept: 0.5 s and Enter; decline: two Downs 0.3 s apart, 0.5 s, Enter), both on the stand-in agent. Prints p50 of
// each and the ratios.
//   build/release/bench/bench_delivery
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/beneath.h"
#include "base/json.h"
#include "base/process.h"

namespace {

using namespace oncelatch;

constexpr int kPrompts = 40;  // half accepted, half declined
constexpr int kSleepingPrompts = 8;

const std::string kAgent = std::string(ONCELATCH_BINARY_DIR) + "/tests/agents/kiro/kiro-cli";
const std::string kLauncher = std::string(ONCELATCH_BINARY_DIR) + "/launcher/oncelatch";

struct Times {
  std::vector<double> accept;  // ms
  std::vector<double> decline;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

void write_scenario(const std::string& directory, int prompts) {
  Json steps = Json::array();
  for (int i = 0; i < prompts; ++i) {
    steps.push_back({{"type", "prompt"},
                     {"tool", "shell"},
                     {"id", fmt::format("{}{}", i % 2 == 0 ? "a" : "d", i)},
                     {"command", fmt::format("true {} {}", i % 2 == 0 ? "accept" : "decline", i)}});
    steps.push_back({{"type", "sleep"}, {"ms", 50}});
  }
  write_text(directory + "/.kiro-standin.json",
             dump_json({{"frame_ms", 16}, {"key_log", "keys.jsonl"}, {"steps", steps}}));
}

// Only prompts that got the intended answer count; others are printed.
Times read_times(const std::string& directory) {
  Times times;
  std::map<std::string, std::int64_t> shown;
  std::ifstream log(directory + "/keys.jsonl");
  for (std::string line; std::getline(log, line);) {
    Result<Json> entry = parse_json(line, {}, "key log");
    if (!entry) continue;
    std::int64_t at = json_integer(*entry, "t").value_or(0);
    if (const std::string* id = json_string(*entry, "shown")) shown[*id] = at;
    const std::string* id = json_string(*entry, "decided");
    if (id == nullptr || shown.count(*id) == 0) continue;
    const std::string* option = json_string(*entry, "option");
    bool accept = (*id)[0] == 'a';
    if (option == nullptr || *option != (accept ? "allow_once" : "reject_once")) {
      fmt::print("WRONG: {} answered {}\n", *id, option != nullptr ? *option : "?");
      continue;
    }
    (accept ? times.accept : times.decline).push_back(static_cast<double>(at - shown[*id]) / 1000.0);
  }
  return times;
}

Times run_ours(const std::string& root) {
  write_scenario(root + "/repository", kPrompts);
  write_text(root + "/policy.yaml",
             "rules:\n  - {capability: shell, match: [\"true accept *\"], effect: allow}\n  - {capability: shell, "
             "match: [\"true decline *\"], effect: deny}\n");
  ::chmod((root + "/policy.yaml").c_str(), 0600);
  Spawn spawn;
  spawn.path = kLauncher;
  spawn.argv = {"oncelatch",          "run",      "kiro",
                "--cli-path",         kAgent,     "--workspace",
                root + "/repository", "--policy", root + "/policy.yaml"};
  spawn.environment = {"HOME=" + root + "/home", "XDG_RUNTIME_DIR=" + root + "/runtime", "PATH=/usr/bin:/bin"};
  Result<Output> output = run_bounded(std::move(spawn), 1 << 20, std::chrono::seconds(120));
  if (!output || output->status.shell_code() != 0)
    fmt::print(stderr, "{}\n", output ? output->err : output.error().message());
  return read_times(root + "/repository");
}

std::string tmux(const std::string& root, std::vector<std::string> arguments) {
  Spawn spawn;
  spawn.path = "/usr/bin/tmux";
  spawn.argv = {"tmux", "-S", root + "/tmux.sock", "-f", "/dev/null"};
  spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
  spawn.environment = {"HOME=" + root, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TERM=xterm-256color"};
  spawn.directory = root + "/sleeping";
  Result<Output> output = run_bounded(std::move(spawn), 1 << 20, std::chrono::seconds(10));
  return output ? output->out : std::string();
}

void pause_ms(long milliseconds) {
  timespec rest{milliseconds / 1000, (milliseconds % 1000) * 1'000'000};
  ::nanosleep(&rest, nullptr);
}

Times run_sleeping(const std::string& root) {
  write_scenario(root + "/sleeping", kSleepingPrompts);
  tmux(root,
       {"new-session", "-d", "-s", "main", "-x", "120", "-y", "40", "-c", root + "/sleeping", kAgent + " chat --tui"});
  for (int i = 0; i < kSleepingPrompts; ++i) {
    std::string command = fmt::format("true {} {}", i % 2 == 0 ? "accept" : "decline", i);
    for (int waits = 0; waits < 100; ++waits) {
      std::string screen = tmux(root, {"capture-pane", "-p", "-t", "main"});
      std::size_t call = screen.rfind("Shell " + command);
      if (call != std::string::npos && screen.find("requires approval", call) != std::string::npos) break;
      pause_ms(200);
    }
    if (i % 2 == 1) {
      for (int down = 0; down < 2; ++down) {
        tmux(root, {"send-keys", "-t", "main", "Down"});
        pause_ms(300);
      }
    }
    pause_ms(500);
    tmux(root, {"send-keys", "-t", "main", "Enter"});
    pause_ms(300);
  }
  pause_ms(500);
  tmux(root, {"kill-server"});
  return read_times(root + "/sleeping");
}

}  // namespace

int main() {
  char pattern[] = "/tmp/oncelatch-bench-XXXXXX";
  std::string root = ::mkdtemp(pattern);
  for (const char* name : {"/home", "/repository", "/runtime", "/sleeping"}) ::mkdir((root + name).c_str(), 0700);
  Times ours = run_ours(root);
  Times sleeping = run_sleeping(root);
  fmt::print("accept:  p50 {:7.1f} ms ({} of {})   fixed sleeps {:7.1f} ms   ratio {:.3f}\n", median(ours.accept),
             ours.accept.size(), kPrompts / 2, median(sleeping.accept), median(ours.accept) / median(sleeping.accept));
  fmt::print("decline: p50 {:7.1f} ms ({} of {})   fixed sleeps {:7.1f} ms   ratio {:.3f}\n", median(ours.decline),
             ours.decline.size(), kPrompts / 2, median(sleeping.decline),
             median(ours.decline) / median(sleeping.decline));
  Result<Fd> parent = open_directory("/tmp");
  if (parent) (void)remove_tree(parent->get(), root.substr(5));
  return 0;
}
