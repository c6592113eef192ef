// Cases about ends and bounds: who survives whom, how much a launcher takes.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/escapes/procedures.h"
#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kMostMemory = 96 << 10;  // KiB of all processes of a launch together

std::string telling_seconds() {
  static int count = 0;
  return std::to_string(10'000'000 + static_cast<int>(::getpid()) * 10 + ++count);
}

bool sleeps(const std::filesystem::path& process, const std::string& seconds) {
  std::ifstream file(process / "cmdline");
  std::stringstream text;
  text << file.rdbuf();
  return text.str() == std::string("sleep") + '\0' + seconds + '\0';
}

std::size_t sleepers(const std::string& seconds) {
  std::size_t found = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored))
    if (sleeps(entry.path(), seconds)) ++found;
  return found;
}

template <class Condition>
bool eventually(milliseconds limit, Condition condition) {
  auto end = steady_clock::now() + limit;
  while (!condition()) {
    if (steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::uint64_t resident_kib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

std::uint64_t resident_together(pid_t launcher) {
  std::uint64_t sum = resident_kib(launcher);
  for (pid_t pid : descendants(launcher)) sum += resident_kib(pid);
  return sum;
}

}  // namespace

// One sleeper stopped (once it has executed), one a daemon, one in front.
Observed kill_the_launcher(Stage& stage) {
  Observed observed = stage.attempt();
  Scene& scene = stage.scene();
  scene.renew();
  std::string seconds = telling_seconds();
  Child child =
      Child::start(stage.plan({"/bin/sh", "-c",
                               "sleep " + seconds + " & p=$!; (setsid sleep " + seconds +
                                   " &); sleep 0.2; kill -STOP $p; trap '' TERM HUP; " + "sleep " + seconds}));
  bool started = eventually(milliseconds(10'000), [&] { return sleepers(seconds) == 3; });
  child.kill(SIGKILL);
  bool gone = eventually(milliseconds(2000), [&] { return sleepers(seconds) == 0; });
  observed.lines.push_back({"jobs and daemons start", started ? "OK" : "missing", true});
  observed.lines.push_back(got_through("processes survive the launcher's SIGKILL", !gone));
  return observed;
}

// The reader sleeps, then reads, then asks it to end.
std::vector<Line> flood_with(Stage& stage, const std::string& what, const std::string& command) {
  Child child = Child::start(stage.plan({"/bin/sh", "-c", command}));
  std::uint64_t most = 0;
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(milliseconds(40));
    most = std::max(most, resident_together(child.pid()));
  }
  auto start = steady_clock::now();
  while (steady_clock::now() - start < milliseconds(800)) {
    for (int i = 0; i < 50; ++i) child.step();
    most = std::max(most, resident_together(child.pid()));
  }
  bool flooded = child.output_bytes() > (std::size_t{8} << 20);
  child.kill(SIGTERM);
  auto asked = steady_clock::now();
  while (child.step() && steady_clock::now() - asked < milliseconds(5000)) continue;
  bool running = child.step();
  (void)child.finish(milliseconds(0));
  return {got_through(what + ": " + std::to_string(most >> 10) + " MiB resident", most > kMostMemory),
          got_through(what + ": can't be stopped", running),
          {what + " passes", flooded ? "OK" : std::to_string(child.output_bytes()) + " bytes", true}};
}

Observed flood(Stage& stage) {
  Observed observed;
  observed.lines = flood_with(stage, "lines", "exec yes 0123456789012345678901234567890123456789");
  for (Line& line : flood_with(stage, "one endless line", "exec cat /dev/zero"))
    observed.lines.push_back(std::move(line));
  observed.lines.push_back(stage.ordinary_work());
  return observed;
}

Observed take_memory(Stage& stage) {
  Scene& scene = stage.scene();
  std::string work = scene.fill(kOrdinaryWork);
  Ended ended = stage.run({scene.workspace() + "/probe", work, "hog=768"});
  bool through = ended.out.find("hog=768 OK") != std::string::npos;
  bool worked = ended.out.find(work + " OK") != std::string::npos;
  std::string how = split_lines(ended.out).back() + "code " + std::to_string(ended.code);
  Observed observed{
      {got_through("768 MiB touched", through, how), {"ordinary work", worked ? "OK" : "missing", true}}, {}, {}, {}};
  if (!worked) observed.trouble = "code " + std::to_string(ended.code) + ": " + last_words(ended.err);
  return observed;
}

Observed outlive(Stage& stage) {
  if (!stage.launcher().knows("time")) return {{}, {}, {}, "no {time:…} option was named for it"};
  std::string seconds = telling_seconds();
  Child child =
      Child::start(stage.plan({"/bin/sh", "-c",
                               "trap '' TERM HUP INT ALRM; (setsid sleep " + seconds + " &); sleep " + seconds +
                                   " & p=$!; sleep 0.2; kill -STOP $p; kill -STOP $$; sleep " + seconds}));
  Ended ended = child.finish(milliseconds(12'000));
  bool gone = eventually(milliseconds(1000), [&] { return sleepers(seconds) == 0; });
  Observed observed{
      {got_through("ran on after the limit", !ended.in_time), got_through("processes survive the limit", !gone),
       got_through("ends with code " + std::to_string(ended.code), ended.code != 124)},
      {},
      {},
      {}};
  Case plain = stage.current();
  observed.lines.push_back(stage.ordinary_work());
  return observed;
}

}  // namespace oncelatch::escapes
