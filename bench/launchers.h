// The launchers that benchmarks compare, each as a command line around a program in a workspace: nothing, oncelatch
// exec, bubblewrap with an equal profile.
//
//   Workshop shop;                                             // a made-up workspace below /var/tmp
//   Launcher own = oncelatch_exec(shop);
//   double microseconds = time_once(own, {"/bin/true"});
//
// Ownership: Workshop removes its directory. Threads: one. Failure: a message and exit code 1.
#pragma once

#include <string>
#include <vector>

namespace oncelatch::bench {

using Words = std::vector<std::string>;

class Workshop {
 public:
  Workshop();
  ~Workshop();
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  [[nodiscard]] const std::string& workspace() const { return workspace_; }
  // A static program that ends at once, without a C library's start-up.
  [[nodiscard]] const std::string& nothing() const { return nothing_; }

 private:
  std::string base_;
  std::string workspace_;
  std::string nothing_;
};

struct Launcher {
  std::string name;
  Words before;  // words that stand before the program's
};

[[nodiscard]] Launcher no_launcher();
[[nodiscard]] Launcher oncelatch_exec(const Workshop& shop);
// Empty words where it isn't installed.
[[nodiscard]] Launcher bubblewrap(const Workshop& shop);

// Runs it in the workspace with its streams on /dev/null; ends the benchmark when it fails.
double time_once(const Launcher& launcher, const Words& program, const std::string& directory);
// What it prints.
[[nodiscard]] std::string output_of(const Launcher& launcher, const Words& program, const std::string& directory);

[[nodiscard]] double median(std::vector<double> values);
[[noreturn]] void die(const std::string& what);

}  // namespace oncelatch::bench
