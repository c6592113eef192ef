// The directory a session may write in, by its real path, and the other names that lead to it.
//
//   Workspace workspace = TRY(find_workspace("./project/", home));
//
// Ownership: values. Threads: one. Failure: Error of stage "workspace"; nothing was made. After fork: allocates. Part
// of the light program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace oncelatch::launcher {

struct Workspace {
  std::string path;                                          // real
  std::vector<std::pair<std::string, std::string>> aliases;  // symbolic links on the way to it: path, real target
  bool is_link = false;                                      // the last name that leads to it
};

// `given` empty: the current directory. `home`: real path of the caller's, empty when unknown.
[[nodiscard]] Result<Workspace> find_workspace(const std::string& given, const std::string& home);

// A note where the repository has settings for us, which nobody reads; else empty.
[[nodiscard]] std::string note_on_settings(const std::string& workspace);

// While one lives, real_path() remembers which names are no links: a plan looks at the same few again and again, and
// what it found is compared with what is opened (sandbox/plan_checks.h). One at a time; not for what outlives its
// planning.
class PathMemory {
 public:
  PathMemory();
  PathMemory(const PathMemory&) = delete;
  PathMemory& operator=(const PathMemory&) = delete;
  ~PathMemory();
};

// Real path of $HOME or of the account's home; empty when there is none.
[[nodiscard]] std::string find_home(const std::vector<std::string>& environment);
// Empty when the path doesn't exist.
[[nodiscard]] std::string real_path(const std::string& path);
// Whether a directory on the way of the path, as it is spelled, lies in `place` or is it.
[[nodiscard]] bool passes_through(const std::string& place, const std::string& path);
// Every symbolic link met on the way along `path`: where it stands (without links above it) and where it leads.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> links_along(const std::string& path);
// Where several users' or programs' own lies side by side: never shown as a whole.
[[nodiscard]] bool holds_others(const std::string& real);
[[nodiscard]] bool is_or_contains(const std::string& outer, const std::string& inner);

}  // namespace oncelatch::launcher
