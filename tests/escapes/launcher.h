// A launcher under test: a command line with places for the confined command.
//
//   Launcher bubblewrap = TRY(Launcher::parse("bwrap --unshare-all --ro-bind / / --bind {workspace} {workspace} {}"));
//   std::vector<std::string> argv = bubblewrap.command("/w", "loopback", {"/bin/true"});
//
// {} is the confined command (at the end when absent), {workspace} the workspace, {FLAG:WORDS} stands for WORDS in
// cases that carry the flag and for nothing elsewhere. A launcher with {terminal:WORDS} makes the terminal it is given
// the controlling one of the confined session; others are started in a session that has it already.
//
// Ownership: a value. Threads: a value. Failure: Error where the program isn't found. After fork: not used.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace oncelatch::escapes {

class Launcher {
 public:
  [[nodiscard]] static Result<Launcher> parse(const std::string& line);
  // No confinement at all: what attempts and work do on this machine.
  [[nodiscard]] static Launcher none();

  [[nodiscard]] const std::string& name() const { return name_; }
  void rename(std::string name) { name_ = std::move(name); }
  [[nodiscard]] bool ours() const { return ours_; }
  // Ours, where the workspace is written to an overlay.
  [[nodiscard]] bool overlays() const { return overlays_; }
  [[nodiscard]] bool is_none() const { return none_; }
  [[nodiscard]] bool knows(const std::string& flag) const { return line_.find("{" + flag + ":") != std::string::npos; }
  // `flags`: words separated by spaces.
  [[nodiscard]] std::vector<std::string> command(const std::string& workspace, const std::string& flags,
                                                 const std::vector<std::string>& program) const;
  // The launcher's words before the confined command, for those who add options of their own.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string line_;
  std::string path_;
  std::string name_;
  bool ours_ = false;
  bool overlays_ = false;
  bool none_ = false;
};

[[nodiscard]] Result<std::string> find_in_path(const std::string& name);

}  // namespace oncelatch::escapes
