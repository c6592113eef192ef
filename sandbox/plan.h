// What the sandbox will be: a value, made whole before anything happens. Doing it is one verb, enter()
// (sandbox/enter.h).
//
//   SandboxPlan plan;
//   plan.workspace = "/home/u/project";
//   plan.binds.push_back({.source = "/usr", .target = "/usr", .access = Access::read_only});
//   plan.argv = {"kiro-cli", "chat", "--tui"};
//   plan.working_directory = "/home/u/project";
//
// Ownership: a value. Threads: a value. Failure: none here; enter() checks it. After fork: not used (it is
// serialised). Words: "guarantee", "tier", "layer" as in DESIGN section 6.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/host_facts.h"

namespace oncelatch::sandbox {

enum class Access { read_only, read_write };

enum class Network {
  none,      // empty network namespace, and Landlock lets no TCP port be bound or connected to
  loopback,  // empty network namespace whose loopback is free: servers of its own. Rests on the namespace alone
  ports,     // the host's network, narrowed by Landlock to TCP connections to connect_ports
};

// One mount of a host object into the new root. `source` is opened once, by descriptor, without following a link in its
// last component; the mounted object is that very inode. Missing sources: an error unless `optional`.
struct Bind {
  std::string source;
  std::string target;
  Access access = Access::read_only;
  bool optional = false;
  bool executable = true;      // false: noexec
  bool where_guarded = false;  // writable, and shown only where the broker knows what may be made there by its name
  bool git_directory = false;  // a repository's: names in it count as those in a directory `.git`
  bool shared_only = false;    // and the main checkout is another: of what isn't shared nothing is made or changed
};

// Of a git repository in the view only this branch may move: HEAD, packed references and every other one stay, in all
// of its worktrees. Needs the guard.
struct OwnBranch {
  std::string git_directory;  // shared by all worktrees, by its path in the view; empty: no such rule
  std::string reference;      // "refs/heads/topic"
};

// What lies in the workspace, the private home or a bind and is covered, under every name the view has for it: by an
// empty read-only object (hide) or by itself read-only (protect), with pinned ancestors. A symbolic link (link) is
// bound over itself: it leads where it leads and can't be replaced. Only that kind may be one.
struct Cover {
  enum class Kind { hide, protect, link };
  std::string path;  // absolute, inside, below a mount's target
  Kind kind = Kind::protect;
  bool required = false;         // refuse where it doesn't exist; else skip
  bool where_unguarded = false;  // skip where the broker knows what may be made there by its name
};

// Whether it is made, in a plan whose broker works (`guards`): also under an overlay names may be made, and are looked
// at before they reach the host.
struct SandboxPlan;
bool covers_in(const Cover& cover, const SandboxPlan& plan, bool guards);

// Another name of something in the view: a symbolic link, made before anything runs.
struct Alias {
  std::string path;    // outside every bind, /dev and /proc
  std::string target;  // absolute
};

// What becomes of names that only a person or the policy should let be made or written: CI workflows, instructions for
// agents, package scripts (Guard::held of sandbox/guarded_names.h). Under the guard only.
enum class HeldNames {
  report,  // allowed: looked for after the run
  ask,     // each call waits for the launcher's answer (Confined::held)
  refuse   // and told there
};
inline constexpr const char* kHeldNamesWords[] = {"report", "ask", "refuse"};

struct Limits {
  std::uint64_t processes = 512;                     // kernel.pid_max of the pid namespace, RLIMIT_NPROC where it binds
  std::uint64_t file_size = std::uint64_t{8} << 30;  // bytes, RLIMIT_FSIZE
  std::uint64_t open_files = 4096;                   // RLIMIT_NOFILE
  std::uint64_t temporary_bytes = std::uint64_t{1} << 30;  // of /tmp, /dev/shm and a private home together
  std::uint64_t memory = 0;                                // bytes of all processes together; 0: not limited
  std::uint64_t seconds = 0;                               // until everything is ended; 0: not limited
  bool memory_required = false;                            // named by the caller: refused where nothing can count it
  bool control_groups = true;  // false: memory is counted by the first process inside, even where a group could be had
};

inline constexpr uid_t kSameId = ~uid_t{0};

// Ring 1 of DESIGN section 6. A second confinement for tools gets its own value later.
struct SandboxPlan {
  Tier least_tier = Tier::full;  // a lower one only where its losses were accepted (sandbox/guarantees.h)
  std::string workspace;         // absolute real path, writable, mounted at the same path
  bool overlay = false;          // the workspace itself stays as it is; of the full tier only
  std::string layers;            // what changes goes into this directory of the host: "upper" and "work", both of `uid`
  std::vector<Bind> binds;       // besides the skeleton (usr, etc by list, dev, proc, tmp)
  std::vector<Cover> covers;
  std::vector<Alias> aliases;  // how else the workspace is spelled
  std::string home;            // host path of the private home; HOME inside is home_inside
  std::string home_inside = "/home/agent";
  std::vector<std::string> argv;
  std::string program_inside;  // where the verified file (or its directory) is mounted; scripts run by this path
  std::vector<std::string> environment;  // whole; may hold credentials, so it travels by memory only
  std::string working_directory;         // inside
  Network network = Network::none;
  std::vector<std::uint16_t> connect_ports;  // of Network::ports
  OwnBranch own_branch;
  bool guard = true;  // where it can be had: the broker makes and writes in the host's directories
  HeldNames held = HeldNames::report;
  bool hold_builds = false;  // where they aren't only reported: what every build writes is held as well
  bool new_worktrees =
      true;  // git adds linked worktrees inside; false: what guards this one by its place wouldn't there
  bool allow_ptrace = false;  // of its own children: debuggers, LeakSanitizer
  Limits limits;
  uid_t uid = 0;  // kernel user the confined processes run as
  gid_t gid = 0;
  uid_t shown_uid = kSameId;  // what they see themselves as
  gid_t shown_gid = kSameId;
  bool idmapped = false;  // files of a source's owner belong to `uid` inside, and the other way round (needs root)
};

inline bool covers_in(const Cover& cover, const SandboxPlan& plan, bool guards) {
  const bool kept_apart = plan.overlay && cover.path.starts_with(plan.workspace + "/");
  return !cover.where_unguarded || (!guards && !kept_apart);
}
inline uid_t shown_uid(const SandboxPlan& plan) {
  return plan.shown_uid == kSameId ? plan.uid : plan.shown_uid;
}
inline gid_t shown_gid(const SandboxPlan& plan) {
  return plan.shown_gid == kSameId ? plan.gid : plan.shown_gid;
}

}  // namespace oncelatch::sandbox
