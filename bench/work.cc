// What work inside costs: find and git status over 20,000 files, and a C build, bare and inside, taken in turn; the
// figures are the ratios of the medians.
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
  Words words;
  double bar;
  int share;  // of the rounds
};

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
      {"git status", {"/usr/bin/git", "-c", "safe.directory=*", "status", "--short", "-uno"}, 1.15, 1},
      {"find", {"/usr/bin/find", "tree", "-newer", "Makefile", "-size", "+100k"}, 1.18, 1},
      {"C build", {"/usr/bin/make", "-s", "-B", "-j2"}, 1.02, 8},
  };
  std::printf("uid %u, %d files, medians of rounds in turn\n", ::getuid(), kDirectories * kFilesEach);
  for (const Work& work : works) {
    std::vector<double> outside;
    std::vector<double> inside;
    for (int round = 0; round < rounds / work.share + 2; ++round) {
      double first = time_once(bare, work.words, shop.workspace());
      double second = time_once(own, work.words, shop.workspace());
      if (round < 2) continue;
      outside.push_back(first);
      inside.push_back(second);
    }
    std::printf("%-12s bare %9.0f us  inside %9.0f us  ratio %.2f (bar %.2f)\n", work.name, median(outside),
                median(inside), median(inside) / median(outside), work.bar);
  }
  return 0;
}

}  // namespace
}  // namespace oncelatch::bench

int main(int argc, char** argv) {
  return oncelatch::bench::run(argc > 1 ? std::atoi(argv[1]) : 60);
}
