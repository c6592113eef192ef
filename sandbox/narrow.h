// Narrow confinement of what works outside the sandbox on bytes that came out of it: tmux's server and clients and git,
// through the program oncelatch-narrow, and the supervisor itself once its session runs.
//
//   TmuxPlaces places{tmux, relay, session + "/tmux"};
//   std::vector<std::string> server = TRY(narrow_tmux_server(places));   // oncelatch-narrow RULE... -- /usr/bin/tmux
//   TRY(narrow_self(supervisor_rules({session, audit_directory, {report_directory}, {workspace}, {}, {}, tmux})));
//
// Ownership: values. Threads: narrow_self() restricts the calling thread and what it starts, for good; call it where
// there is one thread only. Failure: an Error with the stage and the path; after a failed narrow_self() the process is
// confined in part and must end. After fork: allocates.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace oncelatch::sandbox {

struct NarrowRule {
  enum class Presence { required, optional };
  std::string word;  // of sandbox/narrow_apply.cc: "read", "run", "use", …
  std::string path;  // links are followed when the rule is taken up
  Presence presence = Presence::optional;
  std::string why;
};

struct TmuxPlaces {
  std::string tmux;       // the program
  std::string relay;      // the one program of its pane
  std::string directory;  // of its socket and the relay's FIFO, and of nothing else
};
// What is started in tmux's place, tmux's path last: the caller appends tmux's own arguments.
[[nodiscard]] Result<std::vector<std::string>> narrow_tmux_server(const TmuxPlaces& places);
// `home`: the person's, for terminal descriptions of their own; empty for the control client.
[[nodiscard]] Result<std::vector<std::string>> narrow_tmux_client(const std::string& tmux, const std::string& directory,
                                                                  const std::string& home);

// git, which reads what the user may read, writes beneath these directories only, connects to nothing and starts
// nothing but itself: no program that a repository names.
[[nodiscard]] Result<std::vector<std::string>> narrow_git(const std::string& git,
                                                          const std::vector<std::string>& writable);

struct SupervisorPlaces {
  std::string session;                 // its directory, removed at the end
  std::string audit;                   // the directory of the record
  std::vector<std::string> reports;    // directories whose files are replaced at the end
  std::vector<std::string> looked_at;  // directories that are read through at the end
  std::vector<std::string> put_right;  // and those in which something is put back then
  std::vector<std::string> tidied;     // or moved aside, in its directory
  std::string tmux;                    // the program: a lost control client is replaced
};
[[nodiscard]] Result<std::vector<NarrowRule>> supervisor_rules(const SupervisorPlaces& places);
[[nodiscard]] Status narrow_self(const std::vector<NarrowRule>& rules);

}  // namespace oncelatch::sandbox
