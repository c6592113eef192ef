// The command line of `oncelatch exec` as a value. Its own small parser: the light program has none of the heavy
// libraries, and the options are a table with one line each.
//
//   ExecOptions options = TRY(parse_exec_options({"--net", "none", "--", "make", "test"}));
//
// Ownership: values. Threads: any. Failure: Error of stage "command line" that names the option. Units: bytes, seconds.
// After fork: allocates. Part of the light program (docs/ARCHITECTURE.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sandbox/plan.h"

namespace oncelatch::launcher {

enum class Toolchains { automatic, none, list };

// What came from a profile file: oncelatch-session puts its options first, then --profile-file, then the caller's.
struct FromFile {
  std::string path;                                                                      // empty: no file
  std::size_t read = 0, write = 0, deny = 0, set_environment = 0, pass_environment = 0;  // the first so many
};

struct ExecOptions {
  std::string profile;  // empty: the default, workstation
  FromFile from_file;
  std::string workspace;  // empty: the current directory
  bool overlay = false;   // what changes in the workspace is kept apart
  std::vector<std::pair<std::string, std::string>> set_environment;
  std::vector<std::string> pass_environment;  // exact names, or a prefix followed by *
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::vector<std::string> deny;
  std::optional<Toolchains> toolchains;
  std::vector<std::string> toolchain_names;  // of Toolchains::list
  std::optional<sandbox::Network> network;   // unset: none
  std::vector<std::uint16_t> ports;
  bool allow_ptrace = false;
  bool allow_loopback = false;
  bool own_branch = false;  // of git
  std::optional<std::uint64_t> memory, processes, open_files, file_size, temporary_bytes;
  std::optional<std::uint64_t> seconds;  // unset or 0: no limit
  std::string report;
  std::string sarif;
  std::optional<sandbox::HeldNames> held;  // unset: the profile's
  std::vector<std::string> fail_on;        // kinds of effects on the host that give exit code 123
  std::vector<std::string> accepted_losses;
  std::vector<std::pair<std::string, unsigned>> required;  // guarantee and the least number of layers that hold it
  bool explain = false;
  bool help = false;
  std::vector<std::string> command;
};

// `arguments` are what follows "exec".
[[nodiscard]] Result<ExecOptions> parse_exec_options(const std::vector<std::string>& arguments);
[[nodiscard]] std::string exec_help();
// The lines of the help that tell the options.
[[nodiscard]] std::string exec_option_lines();
// The same arguments without --profile: what follows the options of a profile that was read from a file.
[[nodiscard]] std::vector<std::string> without_profile(const std::vector<std::string>& arguments);

// "2G", "512M", "64k", "1048576".
[[nodiscard]] std::optional<std::uint64_t> parse_size(const std::string& text);

}  // namespace oncelatch::launcher
