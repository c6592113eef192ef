// What a session leaves on the host, looked at when nothing of it runs any more, and put right where that can be: what
// takes effect later is told, what git would follow elsewhere is moved aside, the own branch names a commit again, and
// where nothing kept names from being made they are moved away.
//
//   Aftermath aftermath;
//   aftermath.git_directories = {workspace + "/.git"};
//   TRY(aftermath.watch({{workspace}}));                 // before the start, where somebody wants to know
//   … the session …
//   Status whole = aftermath.look();
//   for (const std::string& line : aftermath.lines()) tell(line);
//
// Ownership: owns what it holds. Threads: one. Failure: look() an Error of stage "workspace" where the own branch can't
// be put back; what else can't be put right is told. After fork: not used. Part of the light program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/after_run.h"
#include "launcher/exec/own_branch.h"
#include "launcher/quarantine.h"

namespace oncelatch::launcher {

class Aftermath {
 public:
  std::vector<std::string> git_directories;  // those that are writable inside; a path that is none is left alone
  std::optional<OwnReference> own_reference;
  std::optional<Quarantine> quarantine;  // wants watch()

  [[nodiscard]] Status watch(const std::vector<WatchedRoot>& roots);
  [[nodiscard]] bool watches() const { return watched_.has_value(); }
  [[nodiscard]] Status look();
  [[nodiscard]] AfterRunReport& seen() { return seen_; }
  [[nodiscard]] const AfterRunReport& seen() const { return seen_; }
  // Nothing where nobody watched and nothing was found.
  [[nodiscard]] std::vector<std::string> lines() const;
  // Where it writes, beyond moving files aside in the git directories.
  [[nodiscard]] std::vector<std::string> written() const;

 private:
  [[nodiscard]] Status mend();
  std::optional<AfterRun> watched_;
  std::vector<std::string> roots_;
  AfterRunReport seen_;
  std::vector<std::string> lines_;
};

}  // namespace oncelatch::launcher
