// Held names that the workspace guard refused while a command of `exec` ran: nobody is asked there, so the profile has
// decided. Told once, at the end.
//
//   RefusedNames refused;
//   refused.take(confined.held);          // whenever it is readable
//   refused.tell_all(workspace);
//
// Ownership: the names, at most 20 different ones. Threads: one. Failure: none; a flood is counted, and read a little
// at a time. After fork: not used. Part of the light program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"

namespace oncelatch::launcher {

class RefusedNames {
 public:
  struct Name {
    std::string path;  // absolute, as it is: escape before showing
    std::string use;   // "create", "write", "move", "link"
  };
  void take(Fd& channel);
  // On stderr, paths in the workspace relative to it.
  void tell_all(const std::string& workspace) const;
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::vector<Name>& names() const { return names_; }

 private:
  std::uint64_t count_ = 0;  // of attempts
  std::vector<Name> names_;
  bool all_ = true;  // the different names are
};

}  // namespace oncelatch::launcher
