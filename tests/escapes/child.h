// A process under test: as a chosen user, on pipes or on a terminal of its own, with bounds on its time and output.
//
//   Child child = Child::start({.path = "/usr/bin/env", .argv = {"env", "true"}, .uid = 61234});
//   Ended ended = child.finish(std::chrono::seconds(20));
//
// Ownership: ends the process. Threads: one. Failure: a process that couldn't be started ends with 127. What it left
// behind is ended by sweep(), which needs become_subreaper(). After fork: the child only sets itself up and executes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"

namespace oncelatch::escapes {

inline constexpr std::chrono::milliseconds kLaunchLimit{20'000};

struct ChildPlan {
  std::string path;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string directory;
  std::map<int, int> keep;  // child's number -> ours, besides 0, 1, 2
  uid_t uid = 0;
  bool terminal = false;
  bool echo = true;
  bool controlling = true;  // the terminal is its session's
};

struct Ended {
  int code = -1;  // 128 + n for a signal
  bool in_time = true;
  std::string out;  // everything, on a terminal
  std::string err;
};

class Child {
 public:
  [[nodiscard]] static Child start(const ChildPlan& plan);
  Child(Child&&) = default;
  Child& operator=(Child&&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int terminal() const { return slave_.get(); }  // the side the child has, kept open
  [[nodiscard]] const std::string& seen() const { return out_; }
  void type(const std::string& text) const;
  bool read_until(const std::string& text, std::chrono::milliseconds limit);
  // One step: reads what is there (waiting at most 20 ms), notes an end. False once it has ended.
  bool step();
  [[nodiscard]] Ended finish(std::chrono::milliseconds limit);
  void kill(int signal) const;
  [[nodiscard]] std::size_t output_bytes() const { return total_; }

 private:
  Child() = default;
  void read_from(Fd& from, std::string& into);
  void reap();
  pid_t pid_ = -1;
  int status_ = -1;
  bool ended_ = false;
  std::size_t total_ = 0;
  Fd slave_;
  Fd out_end_;  // a pipe, or the terminal's master
  Fd err_end_;
  std::string out_;
  std::string err_;
};

// Processes of ours that outlive launches are named here and spared by sweep().
[[nodiscard]] std::set<pid_t>& spared();
void become_subreaper();
void sweep();
[[nodiscard]] std::vector<pid_t> descendants(pid_t of);

}  // namespace oncelatch::escapes
