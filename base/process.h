// Starting and ending child processes by pidfd.
//
//   Spawn spawn{.path = "/usr/bin/tmux", .argv = {"tmux", "-V"}, .environment = {"PATH=/usr/bin"}};
//   spawn.keep = {{pipe_write.get(), 1}};
//   Process child = TRY(start(spawn));
//   ExitStatus status = TRY(child.wait(std::chrono::seconds(5)));
//
// Ownership: Process owns its pidfd; a child still running when it is destroyed is killed and reaped (nothing is left
// behind) unless detach() was called. Threads: one Process, one thread. Failure: start() returns the child's own stage
// and errno (a close-on-exec status pipe tells set-up failures apart from the program's). Descriptors not in `keep` are
// closed. After fork: the child runs only async-signal-safe calls on prepared data; it borrows our memory until its
// exec (vfork), so the calling thread stands still for that long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch {

struct ExitStatus {
  bool signaled = false;
  int code = 0;  // exit code, or the signal's number
  // Shell form: code, or 128 + signal.
  [[nodiscard]] int shell_code() const { return signaled ? 128 + code : code; }
};

struct Spawn {
  std::string path;  // executed as it is, no PATH search
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // whole, "NAME=value"
  std::string directory;                 // chdir; empty: unchanged
  std::map<int, int> keep;               // child's number -> our descriptor; 0, 1, 2 not named become /dev/null
  int executable_fd = -1;                // when >= 0: execveat(fd, "", AT_EMPTY_PATH) instead of path
  std::vector<int> enroll;               // cgroup.procs files, open for writing: the child enters these groups first
  bool new_session = false;              // setsid
  int death_signal = 0;                  // PR_SET_PDEATHSIG (parent = the calling thread); 0: none
};

class Process {
 public:
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] bool running() const { return pid_ > 0; }
  // Blocks at most `limit`; error ETIMEDOUT when it still runs then.
  Result<ExitStatus> wait(std::chrono::milliseconds limit);
  // Without blocking; nullopt while it runs.
  Result<std::optional<ExitStatus>> poll();
  Status signal(int number) const;
  pid_t detach();

 private:
  friend Result<Process> start(const Spawn& spawn);
  pid_t pid_ = -1;
  Fd pidfd_;
};

[[nodiscard]] Result<Process> start(const Spawn& spawn);

struct Output {
  ExitStatus status;
  std::string out;
  std::string err;
};
// Runs to the end with bounded output (bytes each) and time; kills it beyond either bound and returns an error (EFBIG,
// ETIMEDOUT). It runs in a session of its own, which is killed whole, and dies with the calling thread. Output of its
// own children that comes after its end is not waited for.
[[nodiscard]] Result<Output> run_bounded(Spawn spawn, std::size_t most_bytes, std::chrono::milliseconds limit);

// Absolute path of a program found in a fixed list of directories (never the caller's PATH), or an error.
[[nodiscard]] Result<std::string> find_system_program(const std::string& name);

}  // namespace oncelatch
