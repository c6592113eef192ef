// What the sandbox will be: a value, made whole before anything happens. Doing it is one verb, enter()
// (sandbox/enter.h).
//
//   SandboxPlan plan;
//   plan.workspace = "/home/u/project";
//   plan.binds.push_back({.source = "/usr", .target = "/usr", .access = Access::read_only});
//   plan.argv = {"kiro-cli", "chat", "--tui"};
//   plan.working_directory = "/home/u/project";
//
// Ownership: a value. Threads: a value. Failure: none here; prepare() checks it. After fork: not used (it is
// serialised). Words: "guarantee", "tier", "layer" as in DESIGN section 6.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace oncelatch::sandbox {

enum class Access { read_only, read_write };

// One mount of a host object into the new root. `source` is opened once, by descriptor, without following a link in its
// last component; the mounted object is that very inode. Missing sources: an error unless `optional`.
struct Bind {
  std::string source;
  std::string target;
  Access access = Access::read_only;
  bool optional = false;
  bool executable = true;  // false: noexec
};

// An existing directory or file of the workspace that is covered: an empty read-only directory (hide) or a read-only
// remount of itself with pinned ancestors (protect). Missing ones are skipped.
struct Cover {
  enum class Kind { hide, protect };
  std::string path;  // absolute, inside the workspace
  Kind kind = Kind::protect;
};

struct Limits {
  std::uint64_t processes = 512;                     // kernel.pid_max of the pid namespace, RLIMIT_NPROC where it binds
  std::uint64_t file_size = std::uint64_t{8} << 30;  // bytes, RLIMIT_FSIZE
  std::uint64_t open_files = 4096;                   // RLIMIT_NOFILE
  std::uint64_t temporary_bytes = std::uint64_t{1} << 30;  // size of /tmp
};

// Ring 1 of DESIGN section 6. A second confinement for tools gets its own value later.
struct SandboxPlan {
  std::string workspace;    // absolute real path, writable, mounted at the same path
  std::vector<Bind> binds;  // besides the skeleton (usr, etc by list, dev, proc, tmp)
  std::vector<Cover> covers;
  std::string home;  // host path of the private home; HOME inside is home_inside
  std::string home_inside = "/home/agent";
  std::vector<std::string> argv;
  std::string program_inside;  // where the verified file (or its directory) is mounted; scripts run by this path
  std::vector<std::string> environment;      // whole; may hold credentials, so it travels by memory only
  std::string working_directory;             // inside
  bool host_network = false;                 // false: empty network namespace
  std::vector<std::uint16_t> connect_ports;  // with host_network: TCP ports Landlock lets it connect to
  Limits limits;
  uid_t uid = 0;  // kernel user the confined processes run as (and appear as)
  gid_t gid = 0;
};

}  // namespace oncelatch::sandbox
