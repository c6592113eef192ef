// What work inside costs: find and git status over 20,000 files, and a C build, bare and inside, taken in turn.
// "inside" is the ratio of the medians where one launch does the work ten times, "with the launch" where each does it
// once.
//
//   bench_work [ROUNDS]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/launchers.h"

namespace oncelatch::bench {

namespace {

constexpr int kDirectories = 200;
constexpr int kFilesEach = 100;
constexpr int kSources = 12;

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

void make_tree(const std::string& workspace) {
  for (int d = 0; d < kDirectories; ++d) {
    std::string directory = workspace + "/tree/d" + std::to_string(d);
    std::filesystem::create_directories(directory);
    for (int f = 0; f < kFilesEach; ++f)
      write(directory + "/f" + std::to_string(f), std::to_string(d * kFilesEach + f) + "\n");
  }
  std::string makefile = "all:";
  for (int i = 0; i < kSources; ++i) makefile += " s" + std::to_string(i) + ".o";
  write(workspace + "/Makefile", makefile + "\n%.o: %.c\n\tcc -O2 -c -o $@ $<\n");
  for (int i = 0; i < kSources; ++i) {
    std::string text = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
    for (int f = 0; f < 120; ++f)
      text += "int f" + std::to_string(f) + "(int a) { char b[64]; snprintf(b, sizeof b, \"%d\", a * " +
              std::to_string(f) + "); return atoi(b) + (int)strlen(b); }\n";
    write(workspace + "/s" + std::to_string(i) + ".c", text);
  }
}

struct Work {
  const char* name;
  std::string command;
  double bar;
  int times;   // for one launch
  int rounds;  // share of the rounds
};

double ratio(const Launcher& bare, const Launcher& own, const std::string& command, const Workshop& shop, int rounds) {
  std::vector<double> outside;
  std::vector<double> inside;
  for (int round = 0; round < rounds + 2; ++round) {
    double first = time_once(bare, {"/bin/sh", "-c", command}, shop.workspace());
    double second = time_once(own, {"/bin/sh", "-c", command}, shop.workspace());
    if (round < 2) continue;
    outside.push_back(first);
    inside.push_back(second);
  }
  return median(inside) / median(outside);
}

std::string repeated(const Work& work) {
  return "i=0; while [ $i -lt " + std::to_string(work.times) + " ]; do " + work.command + "; i=$((i+1)); done";
}

int run(int rounds) {
  Workshop shop;
  make_tree(shop.workspace());
  Launcher bare = no_launcher();
  Launcher own = oncelatch_exec(shop);
  ::setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
  (void)output_of(bare,
                  {"/bin/sh", "-c", "git init -q . && git add . && git -c user.name=b -c user.email=b@b commit -qm b"},
                  shop.workspace());
  const Work works[] = {
      {"git status", "git -c safe.directory=* status --short -uno", 1.15, 10, 2},
      {"find", "find tree -newer Makefile -size +100k", 1.18, 10, 2},
      {"C build", "make -s -B -j2", 1.02, 1, 8},
  };
  std::printf("uid %u, %d files, medians of rounds in turn\n", ::getuid(), kDirectories * kFilesEach);
  for (const Work& work : works) {
    double many = ratio(bare, own, repeated(work), shop, rounds / work.rounds);
    double once = ratio(bare, own, work.command, shop, rounds / work.rounds);
    std::printf("%-12s inside %.2f (bar %.2f)   with the launch %.2f\n", work.name, many, work.bar, once);
  }
  return 0;
}

}  // namespace
}  // namespace oncelatch::bench

int main(int argc, char** argv) {
  return oncelatch::bench::run(argc > 1 ? std::atoi(argv[1]) : 60);
}
