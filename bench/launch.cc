// What a launch costs: a program without a C library, bare, by `oncelatch exec` (the whole program, full tier,
// self-test included) and by bubblewrap with an equal profile, taken in turn. The figure to quote is the ratio of the
// medians over bare. Beside it stands what each launcher really stopped: the same attempts, made by the tests' probe.
//
//   bench_launch [ROUNDS]
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "bench/launchers.h"

namespace oncelatch::bench {

namespace {

struct Attempt {
  const char* word;
  const char* what;
};

constexpr Attempt kAttempts[] = {
    {"append=/usr/bin/true", "open /usr/bin/true for writing"},
    {"read=/etc/shadow", "read /etc/shadow"},
    {"foreign-process", "see another process"},
    {"read=/proc/1/environ", "read the first process's environment"},
    {"append=/proc/1/mem", "open the first process's memory"},
    {"tcp=443", "connect to TCP port 443"},
    {"socket=16:3:9", "open an audit socket"},
    {"socket=38:5", "open a kernel crypto socket"},
    {"unshare-user", "make a user namespace"},
    {"clone3-user", "make one by clone3"},
    {"ptrace-me", "be traced"},
    {"io-uring", "set up an io_uring"},
    {"keyctl", "search the user's keys"},
    {"bpf", "make a BPF map"},
    {"perf", "open a performance counter"},
    {"tiocsti-high=32", "type into the terminal, high bits set"},
    {"openat2=/usr", "open by a call that filters can't read"},
    {"name-to-handle=/usr", "name a file by handle"},
    {"personality=0x0040000", "switch address randomisation off"},
    {"chmod-suid=probe", "make a set-user-id file"},
};

std::string verdict(const Launcher& launcher, const Workshop& shop, const Attempt& attempt) {
  std::istringstream text(output_of(launcher, {shop.workspace() + "/probe", attempt.word}, shop.workspace()));
  std::string line;
  std::getline(text, line);
  std::size_t space = line.rfind(' ');
  return space == std::string::npos ? "?" : line.substr(space + 1);
}

void print_stopped(const std::vector<Launcher>& launchers, const Workshop& shop) {
  std::filesystem::copy_file(ONCELATCH_BINARY_DIR "/tests/probes/probe", shop.workspace() + "/probe");
  std::printf("\n%-40s", "attempt");
  for (const Launcher& launcher : launchers) std::printf(" %-15s", launcher.name.c_str());
  std::vector<int> stopped(launchers.size());
  for (const Attempt& attempt : kAttempts) {
    std::printf("\n%-40s", attempt.what);
    for (std::size_t i = 0; i < launchers.size(); ++i) {
      std::string seen = verdict(launchers[i], shop, attempt);
      if (seen != "OK") ++stopped[i];
      std::printf(" %-15s", seen == "OK" ? "went through" : seen.c_str());
    }
  }
  std::printf("\n%-40s", "stopped");
  for (int count : stopped) std::printf(" %-15d", count);
  std::printf("\n");
}

int run(int rounds) {
  Workshop shop;
  std::vector<Launcher> launchers = {no_launcher(), oncelatch_exec(shop)};
  if (Launcher peer = bubblewrap(shop); !peer.before.empty()) launchers.push_back(peer);
  std::vector<std::vector<double>> times(launchers.size());
  for (int round = 0; round < rounds + 5; ++round)
    for (std::size_t i = 0; i < launchers.size(); ++i) {
      double passed = time_once(launchers[i], {shop.nothing()}, shop.workspace());
      if (round >= 5) times[i].push_back(passed);
    }
  double bare = median(times[0]);
  std::printf("uid %u, %d rounds in turn, medians in us\n", ::getuid(), rounds);
  for (std::size_t i = 0; i < launchers.size(); ++i)
    std::printf("%-20s %8.0f  over bare %8.0f\n", launchers[i].name.c_str(), median(times[i]), median(times[i]) - bare);
  if (launchers.size() > 2)
    std::printf("launch ratio         %8.2f  (bar 0.60, aim 0.45)\n",
                (median(times[1]) - bare) / (median(times[2]) - bare));
  print_stopped(launchers, shop);
  return 0;
}

}  // namespace
}  // namespace oncelatch::bench

int main(int argc, char** argv) {
  return oncelatch::bench::run(argc > 1 ? std::atoi(argv[1]) : 300);
}
