// One directory of a cgroup filesystem, of either version, named after the process that made it.
//
//   ControlGroup group = TRY(ControlGroup::make("/sys/fs/cgroup/pids"));
//   TRY(group.set_limit("pids.max", 512));
//
// Ownership: killed and removed by the destructor, in the process that made it only. Threads: one. Failure: Error
// naming the file. After fork: allocates. Built for the light program too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::sandbox {

class ControlGroup {
 public:
  // Makes one beneath `parent`, after removing those of makers that died.
  [[nodiscard]] static Result<ControlGroup> make(const std::string& parent);
  ControlGroup(ControlGroup&& other) noexcept;
  ControlGroup& operator=(ControlGroup&& other) noexcept;
  ~ControlGroup();

  [[nodiscard]] Status set(const std::string& file, const std::string& value) const;
  // Reads it back: the kernel rounds to pages, downward.
  [[nodiscard]] Status set_limit(const std::string& file, std::uint64_t value) const;
  // Number behind `key` in a file of lines "key number"; 0 where there is none.
  [[nodiscard]] std::uint64_t counter(const std::string& file, const std::string& key) const;
  [[nodiscard]] int processes_file() const { return processes_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  void kill() const;
  // Kills what is left and waits for its end, at most two seconds. False: the directory is still there.
  bool remove();

 private:
  ControlGroup() = default;
  std::string path_;
  Fd processes_;  // cgroup.procs
  pid_t owner_ = 0;
};

// Removes groups beneath `parent` whose makers, of this pid namespace, are gone. make() does it.
void sweep_groups(const std::string& parent);

}  // namespace oncelatch::sandbox
