#include <dirent.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/probes/probe.h"

namespace oncelatch::probe {

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A:B stands for the text AB, which thus isn't in this program's own arguments.
std::string joined(std::string halves) {
  std::size_t colon = halves.find(':');
  if (colon != std::string::npos) halves.erase(colon, 1);
  return halves;
}

int variable(const std::string& name) {
  return ::getenv(name.c_str()) != nullptr ? 0 : ENOENT;
}
int value_in_environment(const std::string& halves) {
  std::string text = joined(halves);
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strstr(*entry, text.c_str()) != nullptr) return 0;
  return ENOENT;
}
// In the environment or the command line of any process but this one's family, which inherits nothing but its own.
int value_in_proc(const std::string& halves) {
  std::string text = joined(halves);
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return errno;
  bool found = false;
  while (dirent* entry = ::readdir(proc)) {
    if (std::strtol(entry->d_name, nullptr, 10) <= 0) continue;
    std::string place = std::string("/proc/") + entry->d_name;
    found = found || content_of(place + "/environ").find(text) != std::string::npos ||
            content_of(place + "/cmdline").find(text) != std::string::npos;
  }
  ::closedir(proc);
  return found ? 0 : ENOENT;
}

// Facts of this process: "got through" where a protection is missing.
int capability_left(const std::string&) {
  std::istringstream lines(content_of("/proc/self/status"));
  int sets = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Cap")) continue;
    ++sets;
    if (line.find_first_not_of("0\t ", line.find(':') + 1) != std::string::npos) return 0;
  }
  return sets == 5 ? EPERM : 0;  // inheritable, permitted, effective, bounding, ambient
}
// User 0 is given nothing by exec or setuid, nothing can be raised or kept, and none of it can be undone.
int secure_bits_open(const std::string&) {
  constexpr int kClosed = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                          SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                          SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  return ::prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == kClosed ? EPERM : 0;
}
int privileges_by_exec(const std::string&) {
  return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : EPERM;
}

// Ordinary work or a line of shell: got through when it ends with 0.
int shell(const std::string& script) {
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(2, 1);  // only verdicts on the standard output
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : ECANCELED;
}

}  // namespace

const Named kEnvironmentAttempts[] = {
    {"env", variable},
    {"env-value", value_in_environment},
    {"proc-value", value_in_proc},
    {"capability", capability_left},
    {"secure-bits-open", secure_bits_open},
    {"privileges-by-exec", privileges_by_exec},
    {"sh", shell},
    {nullptr, nullptr},
};

}  // namespace oncelatch::probe
