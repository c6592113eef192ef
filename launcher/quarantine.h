// Where nothing keeps the agent from making what the host would run: what it left under a name that the guard refuses
// is moved away after the run, into $XDG_STATE_HOME/oncelatch/quarantine/ID, and what was there before is put back.
//
//   Quarantine quarantine = TRY(Quarantine::open(environment));           // before the run
//   quarantine.take(after_run, seen);                                     // after it
//   for (const std::string& line : quarantine.lines()) tell(line);
//
// That is no guarantee: what the host did meanwhile with such a file it did. A file is known by its name; what makes a
// directory a repository is not looked for. What was there is put back where all of it was kept (launcher/after_run.h:
// 64 KiB a file). Where only a mode was changed, that is put back; what lies where nobody could look before the run
// stays. Moved is what lies under the name at that moment, by descriptors, through no link. Ownership: owns
// its directories. Threads: one. Failure: Error of stage "state"; what can't be moved stays, and is told. After fork:
// not used. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/after_run.h"
#include "launcher/state_directory.h"

namespace oncelatch::launcher {

class Quarantine {
 public:
  [[nodiscard]] static Result<Quarantine> open(const std::vector<std::string>& environment);
  // All of them, the set that is made for this run not included.
  [[nodiscard]] const std::string& path() const { return all_.path; }
  // Fills in `quarantined` of what it moved.
  void take(const AfterRun& watch, AfterRunReport& seen);
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  [[nodiscard]] Status make();
  [[nodiscard]] Status take_one(const AfterRun::Place& place, HostEffect& effect);
  [[nodiscard]] static Result<bool> is_same_thing(int parent, const AfterRun::Place& place);
  [[nodiscard]] Status put_mode_back(int parent, const AfterRun::Place& place, const HostEffect& effect);
  [[nodiscard]] std::string put_back(int parent, const std::string& name, const AfterRun::Place& place);

  StateDirectory all_;
  Fd directory_;  // of this run; made when there is something
  std::string own_path_;
  unsigned moved_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace oncelatch::launcher
