// The command line as a value. The only file that knows CLI11 is options.cc.
//
//   ParsedCommand parsed = parse_command_line(argc, argv);
//   if (parsed.exit_now) return *parsed.exit_now;      // --help, --version, or a usage error that was already printed
//
// Ownership: values. Threads: any. Failure: usage errors are printed to stderr with the command that shows help; exit
// code 122. After fork: allocates.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace oncelatch::launcher {

enum class Command {
  run,
  attach,
  approvals_list,
  approvals_accept,
  approvals_decline,
  audit_list,
  audit_verify,
  doctor,
  worktree,
  changes,
  demo
};

struct RunOptions {
  std::string agent;
  std::string cli_path;                 // empty: looked up by name in PATH
  std::string sha256;                   // empty: not pinned
  std::string workspace;                // empty: the current directory
  std::optional<std::string> worktree;  // of that repository; empty: a name by the time
  std::string policy;                   // empty: no rules, everything is asked
  bool own_branch = false;              // of git
  bool unattended = false;
  std::string network = "ports:443";         // none, loopback or ports:…
  std::vector<std::string> accepted_losses;  // guarantees that may be missing
  std::string report;                        // file for the JSON report
  std::string sarif;                         // file for what takes effect on the host later
  std::vector<std::string> fail_on;          // kinds of such effects that give exit code 123
  std::string events;                        // file for JSON lines, or fd:N
  std::vector<std::string> arguments;        // after "--", for the agent
};

struct WorktreeOptions {
  enum class Verb { list, diff, apply, drop };
  Verb verb = Verb::list;
  std::string name;  // empty: the only one
  bool json = false;
  bool commit = false;  // apply: what isn't committed, too
  bool force = false;   // drop: also what would be lost
};

struct ChangesOptions {
  enum class Verb { list, diff, apply, drop };
  Verb verb = Verb::list;
  std::vector<std::string> words;  // the set's id, or none; then paths
  bool json = false;
};

struct ParsedCommand {
  std::optional<int> exit_now;
  Command command = Command::doctor;
  RunOptions run;
  WorktreeOptions worktree;
  ChangesOptions changes;
  std::string id;  // approvals accept|decline, attach, audit list --session
  bool json = false;
  std::size_t most = 1000;  // audit list: newest rows
  bool watch = false;       // demo
};

[[nodiscard]] ParsedCommand parse_command_line(int argc, const char* const* argv);

}  // namespace oncelatch::launcher
