#include "bench/launchers.h"

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

extern char** environ;

namespace oncelatch::bench {

namespace {

// exit(0) and nothing else.
bool build_nothing(const std::string& directory, const std::string& path) {
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

// Starts it with `output` as standard output; the others are /dev/null.
pid_t start(const Launcher& launcher, const Words& program, const std::string& directory, int output) {
  Words words = launcher.before;
  words.insert(words.end(), program.begin(), program.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t pid = 0;
  if (::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) != 0) die(argv[0]);
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "benchmark: %s\n", what.c_str());
  std::exit(1);
}

Workshop::Workshop() {
  char name[] = "/var/tmp/oncelatch-bench-XXXXXX";
  if (::mkdtemp(name) == nullptr) die(name);
  base_ = name;
  workspace_ = base_ + "/workspace";
  nothing_ = workspace_ + "/nothing";
  std::filesystem::create_directory(workspace_);
  ::chmod(base_.c_str(), 0755);
  if (!build_nothing(base_, nothing_)) die("cc");
}

Workshop::~Workshop() {
  std::error_code ignored;
  std::filesystem::remove_all(base_, ignored);
}

Launcher no_launcher() {
  return {"bare", {}};
}

Launcher oncelatch_exec(const Workshop& shop) {
  return {"oncelatch exec",
          {ONCELATCH_BINARY_DIR "/launcher/oncelatch", "exec", "--toolchains", "none", "--workspace", shop.workspace(),
           "--"}};
}

Launcher bubblewrap(const Workshop& shop) {
  if (::access("/usr/bin/bwrap", X_OK) != 0) return {"bubblewrap", {}};
  Words words = {"/usr/bin/bwrap",
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
                 "/usr"};
  for (const char* directory : {"bin", "sbin", "lib", "lib64"})
    words.insert(words.end(), {"--symlink", std::string("usr/") + directory, std::string("/") + directory});
  for (const char* path :
       {"/etc/ld.so.cache", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl/certs", "/etc/ca-certificates",
        "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/mime.types", "/etc/terminfo"})
    words.insert(words.end(), {"--ro-bind-try", path, path});
  const std::string& workspace = shop.workspace();
  words.insert(words.end(),
               {"--dev",       "/dev",      "--tmpfs",     "/dev/shm", "--proc",   "/proc",        "--ro-bind",
                "/proc/sys",   "/proc/sys", "--tmpfs",     "/tmp",     "--tmpfs",  "/var/tmp",     "--tmpfs",
                "/home/agent", "--bind",    workspace,     workspace,  "--setenv", "PATH",         "/usr/bin:/bin",
                "--setenv",    "HOME",      "/home/agent", "--chdir",  workspace,  "--remount-ro", "/"});
  return {"bubblewrap", words};
}

double time_once(const Launcher& launcher, const Words& program, const std::string& directory) {
  static const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  auto begin = std::chrono::steady_clock::now();
  pid_t pid = start(launcher, program, directory, null);
  int status = 0;
  ::waitpid(pid, &status, 0);
  double passed = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  if (status != 0) die(launcher.name + ": " + program[0] + " failed");
  return passed;
}

std::string output_of(const Launcher& launcher, const Words& program, const std::string& directory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) die("pipe");
  pid_t pid = start(launcher, program, directory, ends[1]);
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  return text;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace oncelatch::bench
