// What changed in the workspace while a command ran, and takes effect outside the sandbox later: it would be run or
// followed there by git, a shell, an editor, a build, another agent. Names are told from sandbox/guarded_names.h;
// besides those, links that lead out, files with set-id bits, sockets, pipes, and programs named like the host's.
//
//   AfterRun watch = TRY(AfterRun::begin({{workspace}, {repository, true}}));
//   … the command runs …
//   AfterRunReport seen = watch.end();
//
// Ownership: holds the directories open, and the guarded files' first 64 KiB in memory (16 MiB together). Threads: one.
// Failure: begin() an Error of stage "workspace". Time and entries are bounded (10 seconds, a million): a walk that
// wasn't finished says so, and nothing may then be called clean. What the host itself changed meanwhile is told too:
// who did it can't be known. After fork: not used. Part of the light program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/host_effects.h"

namespace oncelatch::launcher {

struct HostVerdict {
  const char* guard = nullptr;  // null: nothing to tell
  const char* kind = "";
  const char* reason = "";
};

// By name the row of the table, else by the kind of object; a link stands for what lies behind it, too. `text`: of a
// link its target.
[[nodiscard]] HostVerdict judge_effect(const std::string& path, mode_t mode, const std::string& text);
// Into the effect, of text only: the first new line, or one behind it that runs something.
void find_line(const std::string& path, const std::string& before, const std::string& after, HostEffect& effect);

struct WatchedRoot {
  std::string path;
  bool git_directory = false;  // names in it are those below a `.git`
};

class AfterRun {
 public:
  // A file among the roots is known by its name already.
  [[nodiscard]] static Result<AfterRun> begin(const std::vector<WatchedRoot>& roots);
  [[nodiscard]] AfterRunReport end() const;
  // Where an effect of end() lies, and what was there before.
  struct Place {
    int root = -1;       // borrowed
    std::string path;    // relative to it
    bool known = false;  // whether something was there before
    mode_t was = 0;      // 0: nothing
    ino_t inode = 0;     // of what was there
    bool whole = false;
    std::string text;  // of a regular file, where all of it was kept; the target of a link
  };
  [[nodiscard]] Place place_of(const HostEffect& effect) const;

 private:
  struct Seen {
    HostVerdict verdict;
    ino_t inode = 0;
    mode_t mode = 0;
    std::int64_t changed = 0;  // ctime, ns: nobody inside can set it
    std::int64_t size = 0;
    std::string text;  // of regular files; the target of a link
  };
  using Tree = std::map<std::string, Seen>;
  class Walk;
  static bool is_told_by(const Seen& directory, const Seen& below);
  static bool is_unchanged(const Seen& was, const Seen& is);
  [[nodiscard]] std::set<std::string> linked_worktrees(const std::vector<Tree>& trees) const;

  struct Root {
    std::string path;
    bool git_directory = false;
    Fd directory;
    Tree before;
    std::vector<std::string> unseen;  // directories that weren't looked into; "": not everything was
  };

  AfterRun() = default;
  std::vector<Root> roots_;
  bool complete_ = true;
};

}  // namespace oncelatch::launcher
