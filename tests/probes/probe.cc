// Tries, from inside a sandbox, what must fail, and prints what the kernel said. Static, so that it runs in any view.
//
//   probe ATTEMPT[=ARGUMENT]...      prints "ATTEMPT=ARGUMENT ENAME", "OK" for a success, "SIGn" for a kill
//   probe --code ATTEMPT[=ARGUMENT]  prints nothing: the exit code is the errno, 0 for a success
#include "tests/probes/probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace oncelatch::probe {

namespace {

constexpr const Named* kAll[] = {kFileAttempts,  kProcessAttempts,     kKernelAttempts, kSocketAttempts,
                                 kLimitAttempts, kEnvironmentAttempts, kRaceAttempts};

Attempt find(const std::string& name) {
  for (const Named* list : kAll)
    for (const Named* entry = list; entry->name != nullptr; ++entry)
      if (name == entry->name) return entry->attempt;
  return nullptr;
}

// In a child, so that one which is killed (or succeeds) doesn't disturb the next.
int run_apart(Attempt attempt, const std::string& argument) {
  int ends[2];
  if (::pipe(ends) != 0) return errno;
  pid_t child = ::fork();
  if (child == 0) {
    int result = attempt(argument);
    ::_exit(::write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  ::close(ends[1]);
  int result = EPROTO;
  if (::read(ends[0], &result, sizeof result) != sizeof result) result = EPROTO;
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ends[0]);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : result;
}

void print(const char* text, int result) {
  if (result == 0) std::printf("%s OK\n", text);
  if (result >= 1000) std::printf("%s SIG%d\n", text, result - 1000);
  if (result <= 0 || result >= 1000) return;
  const char* name = ::strerrorname_np(result);
  std::printf("%s %s\n", text, name != nullptr ? name : "?");
}

}  // namespace
}  // namespace oncelatch::probe

int main(int argc, char** argv) {
  using namespace oncelatch::probe;
  if (argc == 3 && std::strcmp(argv[1], "--code") == 0) {
    std::string word = argv[2];
    std::size_t equals = word.find('=');
    Attempt attempt = find(word.substr(0, equals));
    return attempt == nullptr ? 2 : attempt(equals == std::string::npos ? "" : word.substr(equals + 1));
  }
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    std::size_t equals = word.find('=');
    Attempt attempt = find(word.substr(0, equals));
    if (attempt == nullptr) {
      std::printf("%s unknown\n", argv[i]);
      continue;
    }
    print(argv[i], run_apart(attempt, equals == std::string::npos ? "" : word.substr(equals + 1)));
    std::fflush(stdout);
  }
  return 0;
}
