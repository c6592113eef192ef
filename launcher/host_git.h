// git on the host, in a repository that isn't trusted: nothing of it is run. Hooks, file system monitors, filters,
// merge drivers, external diffs, text converters, pagers, editors, signing programs and transports are switched off by
// settings that stand over the repository's, every driver that it names by its name; and git is confined so that it
// starts nothing but itself (sandbox/narrow.h), whatever a setting says that isn't in this list. Grafts, replacements
// and caches of its history (commit-graph, multi-pack-index) aren't read. Objects are believed as git believes them:
// see launcher/own_objects.h for what an agent could write.
//
//   HostGit git = TRY(HostGit::open(environment, {common_directory, work_tree}));
//   std::string head = TRY(git.ask({.git_dir = git_dir, .work_tree = tree}, {"rev-parse", "HEAD"}));
//
// The user's own settings count (name, e-mail, ignored files). Files are checked out as they lie in the repository: no
// filter changes them (Git LFS leaves its pointers). Ownership: values. Threads: one. Failure: Error of stage "git"
// with git's own words, escaped; output is bounded (64 MiB), time too (10 minutes). After fork: not used.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace oncelatch::launcher {

// Where git works. With a git directory nothing is looked up, so nothing that lies in the work tree leads elsewhere.
struct GitPlace {
  std::string git_dir;    // empty: git finds the repository around `directory`
  std::string common;     // the git directory of the main checkout, where `git_dir` is a linked worktree's
  std::string work_tree;  // empty: none
  std::string index;      // empty: the git directory's own
  std::string directory;  // to start in; empty: the work tree
  std::string objects;    // where objects are written and read; empty: the repository's
  std::string more;       // objects that are read as well
  std::string shallow;    // the file of commits whose parents aren't looked for; empty: the repository's
};

using GitSettings = std::vector<std::pair<std::string, std::string>>;

class HostGit {
 public:
  // `writable`: directories that exist; elsewhere git writes nothing.
  [[nodiscard]] static Result<HostGit> open(const std::vector<std::string>& environment,
                                            const std::vector<std::string>& writable);
  // Whatever its exit code.
  [[nodiscard]] Result<Output> run(const GitPlace& place, const std::vector<std::string>& arguments,
                                   int input = -1) const;  // borrowed; -1: none
  // What it prints, without the last line's end; every exit code but 0 is an error.
  [[nodiscard]] Result<std::string> ask(const GitPlace& place, const std::vector<std::string>& arguments,
                                        int input = -1) const;

 private:
  [[nodiscard]] Result<Output> start(const GitPlace& place, const std::vector<std::string>& arguments,
                                     const GitSettings& settings, int input) const;
  [[nodiscard]] Result<GitSettings> settings_for(const GitPlace& place) const;

  std::vector<std::string> command_;      // oncelatch-narrow RULE... -- git
  std::vector<std::string> environment_;  // of the caller, what git needs of it
  mutable std::map<std::string, GitSettings>
      settings_;  // by git directory: the repository's drivers are asked for once
};

}  // namespace oncelatch::launcher
