// A scratch directory for one test: a repository, a home, a state and a runtime directory, all removed at the end.
//
//   Scratch scratch;
//   scratch.write("repository/a.txt", "text");
//   Process run = scratch.start(scratch.run_arguments());
//   Scratch as_user(kOrdinaryUser);   // everything belongs to that user and runs as it; needs root
//
// Ownership: owns the directory. Threads: one. Failure: a gtest assertion.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/process.h"

namespace oncelatch::test {

inline constexpr uid_t kOrdinaryUser = 61234;  // nobody's on a Debian system

// Who a test can be: root and an ordinary user, for anybody else themselves.
inline std::vector<uid_t> users() {
  return ::geteuid() == 0 ? std::vector<uid_t>{0, kOrdinaryUser} : std::vector<uid_t>{::geteuid()};
}

// In front of oncelatch: a machine without user namespaces, and the losses that its caller accepts there.
inline const std::vector<std::string> kWithoutNamespaces = {
    std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall", "user-namespaces"};
inline const std::vector<std::string> kLowerTierLosses = {
    "--accept-loss", "deny_inside",   "--accept-loss", "creation_guard", "--accept-loss",
    "write_scope",   "--accept-loss", "read_scope",    "--accept-loss",  "processes"};

class Scratch {
 public:
  Scratch() : Scratch(::geteuid()) {}
  explicit Scratch(uid_t user);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }
  void write(const std::string& name, const std::string& text, unsigned mode = 0600) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  [[nodiscard]] bool exists(const std::string& name) const;
  // Environment of a caller whose HOME, state and runtime directories are here.
  [[nodiscard]] std::vector<std::string> environment() const;
  // The agent's scenario, in the repository.
  void scenario(const Json& body) const { write("repository/.kiro-standin.json", dump_json(body), 0644); }

  // A shell's script outside of any sandbox, as the scratch's user in the repository: what it prints.
  [[nodiscard]] std::string on_host(const std::string& script) const;
  // oncelatch as it would be started, to be changed before.
  [[nodiscard]] Spawn spawn(std::vector<std::string> arguments) const;
  // Runs oncelatch to its end without a terminal.
  [[nodiscard]] Output oncelatch(std::vector<std::string> arguments,
                                 std::chrono::seconds limit = std::chrono::seconds(60)) const;
  // The same through another program in front ("unshare", "deny_syscall"), given with its arguments.
  [[nodiscard]] Output oncelatch_behind(const std::vector<std::string>& front,
                                        std::vector<std::string> arguments) const;
  // Starts it and lets it run; output goes to files stdout.txt and stderr.txt of the scratch directory.
  [[nodiscard]] Process start(std::vector<std::string> arguments) const;
  // "run kiro" on the stand-in with this scratch's repository, policy.yaml when it exists, report.json and
  // events.jsonl.
  [[nodiscard]] std::vector<std::string> run_arguments(std::vector<std::string> more = {}) const;
  [[nodiscard]] Json report() const;
  [[nodiscard]] std::vector<Json> events() const;
  // Waits until an event of this kind was written; fails the test after the limit.
  Json wait_event(const std::string& kind, std::size_t number = 1,
                  std::chrono::seconds limit = std::chrono::seconds(20)) const;
  // Ids of sessions whose directory exists.
  [[nodiscard]] std::vector<std::string> session_directories() const;
  // Pids of processes whose command line or environment names this scratch directory.
  [[nodiscard]] std::vector<int> processes_left() const;

 private:
  [[nodiscard]] Spawn spawn_program(const std::string& path, std::vector<std::string> arguments) const;
  void give(const std::string& path) const;
  std::string root_;
  uid_t user_;
};

struct ProcessLine {
  int pid = 0;
  std::string command;  // argv joined by blanks
};
// The process and all its descendants, now.
[[nodiscard]] std::vector<ProcessLine> process_tree(int pid);
[[nodiscard]] bool is_running(int pid);  // a zombie isn't

[[nodiscard]] std::string program(const std::string& name);  // of the build: "oncelatch", "kiro-cli"
// The JSON values of a text with one a line; what is none is left out.
[[nodiscard]] std::vector<Json> json_lines(const std::string& text);
[[nodiscard]] std::string sha256_file(const std::string& path);
// Polls until the condition holds; false after the limit.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::milliseconds(5000)) {
  auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace oncelatch::test
