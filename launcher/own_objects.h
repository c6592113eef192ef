// Objects of a repository in a directory of our own, each under the name that its content has. An agent that can write
// in the repository's objects can put others' content under a name, or let an index of a pack say so, and git believes
// it; what git tells from here is true, or it misses something.
//
//   OwnObjects own = TRY(OwnObjects::open(git, repository, "/home/u/.local/state/…/fix.own"));
//   std::string tree = TRY(git.ask(own.claimed(), {"write-tree"}));     // reads the repository's objects, too
//   TRY(own.bring({tree, commit}, {commit}));                           // Error: they aren't what their names say
//   std::string text = TRY(git.ask(own.verified(), {"cat-file", "-p", tree}));
//
// Objects come as a pack whose index is made anew from what is in it (git-index-pack(1)). Ownership: holds the
// directory's lock; another command waits for its end. Threads: one. Failure: Error of stage "worktree" or "git". The
// directory may be removed whole whenever nobody holds it. After fork: not used.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/host_git.h"

namespace oncelatch::launcher {

class OwnObjects {
 public:
  // `directory` is made if it isn't there; `git` may write in it.
  [[nodiscard]] static Result<OwnObjects> open(const HostGit& git, const GitPlace& repository,
                                               const std::string& directory);
  // The repository, with these objects only and no index; history ends where bring() said.
  [[nodiscard]] GitPlace verified() const;
  // With the repository's objects, and what it says of where its history ends.
  [[nodiscard]] GitPlace claimed() const;
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

  // Names of objects, of the repository's or ours; `ends`: commits whose parents aren't among them.
  [[nodiscard]] Status bring(const std::vector<std::string>& objects, const std::vector<std::string>& ends) const;
  // Puts such objects into the repository, where `into` may write (launcher/git_files.h); one that is there with other
  // content is an error.
  [[nodiscard]] Status give(const HostGit& into, const std::vector<std::string>& objects) const;

 private:
  OwnObjects(HostGit git, GitPlace repository, std::string directory, Fd lock);
  [[nodiscard]] Result<Fd> list(const std::vector<std::string>& objects) const;
  [[nodiscard]] Result<Fd> pack(const GitPlace& from, const std::vector<std::string>& objects) const;
  [[nodiscard]] Status check_all_are_in(const GitPlace& place, const std::vector<std::string>& objects) const;

  HostGit git_;
  GitPlace repository_;
  std::string directory_;
  Fd lock_;
};

}  // namespace oncelatch::launcher
