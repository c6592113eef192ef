// What the workspace guard costs where many small files are made: each is a call on behalf. Bare and inside, in turn;
// the disk is synced before each. Ratios of the medians, the launch included.
//
//   bench_storm [ROUNDS]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/launchers.h"

namespace oncelatch::bench {

namespace {

constexpr int kPackages = 50;
constexpr int kFilesOfPackage = 200;

struct Storm {
  const char* name;
  std::string command;
  std::string clean;  // before each round, not measured
  double bar;         // 0: none stated
};

void shell(const std::string& script, const std::string& directory) {
  (void)time_once(no_launcher(), {"/bin/sh", "-c", script}, directory);
}

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

void make_sources(const std::string& workspace) {
  for (int i = 0; i < 10'000; ++i)
    write(workspace + "/src/d" + std::to_string(i % 100) + "/e" + std::to_string(i % 7) + "/f" + std::to_string(i),
          std::string(static_cast<std::size_t>(100 + i * 37 % 4000), 'x'));
  shell(
      "tar cf a.tar src && mkdir repository && cd repository && git init -q -b empty . && "
      "git -c user.name=b -c user.email=b@b commit -q --allow-empty -m empty && git switch -q -c full && "
      "for d in $(seq 200); do mkdir d$d; (cd d$d && for f in $(seq 100); do echo $d $f > f$f; done); done && "
      "git add . && git -c user.name=b -c user.email=b@b commit -qm full && git checkout -q empty",
      workspace);
}

// Packages from tarballs that lie beside the lock file.
bool make_packages(const std::string& workspace) {
  if (::access("/usr/bin/npm", X_OK) != 0) return false;
  std::string dependencies;
  for (int p = 0; p < kPackages; ++p) {
    const std::string name = "p" + std::to_string(p);
    const std::string place = workspace + "/app/made/" + name + "/package";
    write(place + "/package.json", "{\"name\": \"" + name + "\", \"version\": \"1.0.0\"}\n");
    for (int f = 1; f < kFilesOfPackage; ++f)
      write(place + "/lib/d" + std::to_string(f % 10) + "/f" + std::to_string(f) + ".js",
            "module.exports = " + std::to_string(f) + ";\n");
    dependencies += std::string(p == 0 ? "" : ", ") + "\"" + name + "\": \"file:" + name + ".tgz\"";
  }
  write(workspace + "/app/package.json",
        "{\"name\": \"app\", \"version\": \"1.0.0\", \"dependencies\": {" + dependencies + "}}\n");
  shell(
      "cd app && for p in made/*; do tar czf $(basename $p).tgz -C $p package; done && rm -rf made && "
      "npm install --package-lock-only --offline --no-audit --no-fund --cache .npm >/dev/null 2>&1",
      workspace);
  return true;
}

int run(int rounds) {
  Workshop shop;
  make_sources(shop.workspace());
  ::setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
  std::vector<Storm> storms = {
      {"git checkout of 20,000 files", "cd repository && git -c safe.directory=* checkout -q full",
       "cd repository && git checkout -q empty", 7},
      {"tar x of 10,000 files", "mkdir out && tar xf a.tar -C out", "rm -rf out", 1.4},
      {"cp -a of 10,000 files", "cp -a src out", "rm -rf out", 0},
  };
  if (make_packages(shop.workspace()))
    storms.push_back({"npm ci of 10,000 files",
                      "cd app && npm ci --offline --no-audit --no-fund --cache .npm >/dev/null 2>&1",
                      "rm -rf app/node_modules", 1.2});
  const Launcher bare = no_launcher();
  const Launcher own = oncelatch_exec(shop);
  std::printf("uid %u, %d rounds in turn, medians\n", ::getuid(), rounds);
  for (const Storm& storm : storms) {
    std::vector<double> outside;
    std::vector<double> inside;
    for (int round = 0; round <= rounds; ++round) {
      for (const Launcher* launcher : {&bare, &own}) {
        shell(storm.clean + "; sync", shop.workspace());
        const double took = time_once(*launcher, {"/bin/sh", "-c", storm.command}, shop.workspace());
        if (round > 0) (launcher == &own ? inside : outside).push_back(took);
      }
    }
    std::printf("%-30s bare %7.0f ms   ratio %.2f", storm.name, median(outside) / 1000,
                median(inside) / median(outside));
    if (storm.bar != 0) std::printf("   (bar %.1f)", storm.bar);
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace oncelatch::bench

int main(int argc, char** argv) {
  return oncelatch::bench::run(argc > 1 ? std::atoi(argv[1]) : 7);
}
