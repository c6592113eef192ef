// What an approved call really does: a shell command, a file written, a file read.
//
//   ToolRun run;
//   if (run.start("pwd", false)) while (!run.finished()) run.pump();
//
// ToolRun owns its child (a process group of its own) and the pipe; the destructor kills and reaps it.
// Output is cut at 64 KiB. File operations return 0 or the errno. Not thread-safe.
#pragma once

#include "text.h"

#include <sys/types.h>

#include <string>

namespace kiro {

constexpr std::size_t kOutputLimit = 64UL * 1024;

class ToolRun {
 public:
  ToolRun() = default;
  ~ToolRun();
  ToolRun(const ToolRun&) = delete;
  ToolRun& operator=(const ToolRun&) = delete;

  // with_terminal: standard input is the terminal instead of /dev/null.
  bool start(const std::string& command, bool with_terminal);
  void pump();  // never blocks
  void kill();

  [[nodiscard]] bool running() const { return child_ > 0; }
  [[nodiscard]] int fd() const { return pipe_; }
  [[nodiscard]] int status() const { return status_; }  // exit code, or 128 + signal
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  void read_some();
  void close_pipe();

  pid_t child_ = -1;
  int pipe_ = -1;
  int status_ = 0;
  std::string output_;
};

int write_file(const std::string& path, const std::string& content, bool append);
int read_file(const std::string& path, std::string& content, std::size_t limit = kOutputLimit);
int read_all(int fd, std::string& content, std::size_t limit);  // until the end or the limit
std::string errno_name(int number);                             // "EACCES"; "OK" for 0

}  // namespace kiro
