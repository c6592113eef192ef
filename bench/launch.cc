// What the sandbox costs at a launch: a program without a C library, bare, in the full tier (self-test included) and in
// bubblewrap with an equal profile, taken in turn. The figure to quote is the ratio of the medians over bare.
//
//   bench_launch [ROUNDS]
//
// "full tier" is prepare() and enter() of this process until the program's end; the probe of the machine is the quick
// one.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "sandbox/enter.h"
#include "verify/verify_file.h"

namespace oncelatch {

namespace {

using sandbox::SandboxPlan;
using Microseconds = double;

struct Place {
  std::string base;
  std::string workspace;
  std::string home;
  std::string target;
};

// exit(0) and nothing else.
bool build_target(const std::string& directory, const std::string& path) {
  std::string source = directory + "/nothing.c";
  std::FILE* file = std::fopen(source.c_str(), "w");
  if (file == nullptr) return false;
#if defined(__x86_64__)
  std::fputs("void _start(void) { __asm__ volatile(\"syscall\" :: \"a\"(231), \"D\"(0)); }\n", file);
#else
  std::fputs(
      "void _start(void) { register long n __asm__(\"x8\") = 94; register long c __asm__(\"x0\") = 0;"
      " __asm__ volatile(\"svc 0\" :: \"r\"(n), \"r\"(c)); }\n",
      file);
#endif
  std::fclose(file);
  std::string command = "cc -O1 -static -nostdlib -fno-stack-protector -o " + path + " " + source;
  return std::system(command.c_str()) == 0;
}

Place make_place() {
  char name[] = "/var/tmp/oncelatch-bench-XXXXXX";
  Place place;
  place.base = ::mkdtemp(name);
  place.workspace = place.base + "/workspace";
  place.home = place.base + "/home";
  place.target = place.base + "/nothing";
  std::filesystem::create_directory(place.workspace);
  std::filesystem::create_directory(place.home);
  ::chmod(place.base.c_str(), 0755);
  if (!build_target(place.base, place.target)) std::exit(1);
  return place;
}

Microseconds since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

void die(const std::string& what) {
  std::fprintf(stderr, "bench_launch: %s\n", what.c_str());
  std::exit(1);
}

void spawn_and_wait(std::vector<const char*> arguments) {
  arguments.push_back(nullptr);
  pid_t pid = 0;
  char* none[] = {nullptr};
  if (::posix_spawn(&pid, arguments[0], nullptr, nullptr, const_cast<char* const*>(arguments.data()), none) != 0)
    die(arguments[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0) die(std::string(arguments[0]) + " failed");
}

Microseconds bare(const Place& place) {
  auto start = std::chrono::steady_clock::now();
  spawn_and_wait({place.target.c_str()});
  return since(start);
}

Microseconds bubblewrap(const Place& place) {
  const char* workspace = place.workspace.c_str();
  std::vector<const char*> arguments = {"/usr/bin/bwrap",
                                        "--unshare-all",
                                        "--die-with-parent",
                                        "--new-session",
                                        "--cap-drop",
                                        "ALL",
                                        "--disable-userns",
                                        "--unshare-user",
                                        "--clearenv",
                                        "--tmpfs",
                                        "/",
                                        "--ro-bind",
                                        "/usr",
                                        "/usr",
                                        "--symlink",
                                        "usr/bin",
                                        "/bin",
                                        "--symlink",
                                        "usr/sbin",
                                        "/sbin",
                                        "--symlink",
                                        "usr/lib",
                                        "/lib",
                                        "--symlink",
                                        "usr/lib64",
                                        "/lib64"};
  for (const char* path :
       {"/etc/ld.so.cache", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl/certs", "/etc/ca-certificates",
        "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/mime.types", "/etc/terminfo"})
    arguments.insert(arguments.end(), {"--ro-bind-try", path, path});
  arguments.insert(arguments.end(), {"--dev",        "/dev",      "--tmpfs",
                                     "/dev/shm",     "--proc",    "/proc",
                                     "--ro-bind",    "/proc/sys", "/proc/sys",
                                     "--tmpfs",      "/tmp",      "--tmpfs",
                                     "/var/tmp",     "--bind",    place.home.c_str(),
                                     "/home/agent",  "--bind",    workspace,
                                     workspace,      "--ro-bind", place.target.c_str(),
                                     "/opt/nothing", "--chdir",   workspace,
                                     "--remount-ro", "/",         "/opt/nothing"});
  auto start = std::chrono::steady_clock::now();
  spawn_and_wait(arguments);
  return since(start);
}

SandboxPlan plan_of(const Place& place) {
  SandboxPlan plan;
  plan.workspace = place.workspace;
  plan.home = place.home;
  plan.argv = {"nothing"};
  plan.program_inside = "/opt/nothing";
  plan.binds.push_back({.source = place.target, .target = "/opt/nothing"});
  plan.environment = {"PATH=/usr/bin"};
  plan.uid = ::getuid();
  plan.gid = ::getgid();
  return plan;
}

struct Split {
  Microseconds whole = 0;
  Microseconds prepared = 0;
  Microseconds entered = 0;
};

Split full_tier(const SandboxPlan& plan, const VerifiedArtifact& artifact) {
  auto start = std::chrono::steady_clock::now();
  sandbox::HostFacts facts = sandbox::probe_host(sandbox::Probing::quick);
  Result<sandbox::PreparedSandbox> prepared = sandbox::prepare(plan, artifact, facts);
  if (!prepared) die(prepared.error().message());
  Split split;
  split.prepared = since(start);
  Result<sandbox::Confined> confined = sandbox::enter(std::move(*prepared), {});
  if (!confined) die(confined.error().message());
  split.entered = since(start);
  Result<ExitStatus> status = confined->process.wait(std::chrono::seconds(10));
  if (!status || status->shell_code() != 0) die("the program failed inside");
  split.whole = since(start);
  return split;
}

Microseconds median(std::vector<Microseconds> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int rounds) {
  Place place = make_place();
  Result<VerifiedArtifact> artifact = verify::verify_file(place.target, std::nullopt);
  if (!artifact) die(artifact.error().message());
  SandboxPlan plan = plan_of(place);
  bool peer = ::access("/usr/bin/bwrap", X_OK) == 0;
  std::vector<Microseconds> bare_times, own_times, prepare_times, enter_times, peer_times;
  for (int round = 0; round < rounds + 5; ++round) {
    Microseconds plain = bare(place);
    Split split = full_tier(plan, *artifact);
    Microseconds other = peer ? bubblewrap(place) : 0;
    if (round < 5) continue;  // warm-up
    bare_times.push_back(plain);
    own_times.push_back(split.whole);
    prepare_times.push_back(split.prepared);
    enter_times.push_back(split.entered);
    peer_times.push_back(other);
  }
  std::filesystem::remove_all(place.base);
  Microseconds base = median(bare_times);
  Microseconds own = median(own_times) - base;
  std::printf("uid %u, %d rounds in turn, medians in us\n", ::getuid(), rounds);
  std::printf("bare                  %8.0f\n", base);
  std::printf("full tier             %8.0f  over bare %8.0f (prepared after %.0f, running after %.0f)\n", own + base,
              own, median(prepare_times), median(enter_times));
  if (!peer) return 0;
  Microseconds theirs = median(peer_times) - base;
  std::printf("bubblewrap            %8.0f  over bare %8.0f\n", theirs + base, theirs);
  std::printf("launch ratio          %8.2f  (bar 0.60, aim 0.45)\n", own / theirs);
  return 0;
}

}  // namespace
}  // namespace oncelatch

int main(int argc, char** argv) {
  return oncelatch::run(argc > 1 ? std::atoi(argv[1]) : 300);
}
