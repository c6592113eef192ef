// Targets for the self-test, outside what the sandbox shows: a directory with a secret file and a listening socket, an
// abstract socket and a TCP socket, whose port is the last part of the abstract name. They exist from prepare() until
// enter() has its answer.
//
//   std::unique_ptr<Planted> planted = TRY(Planted::make(uid, gid, session_directory, visible));
//   TRY(planted->plant());
//
// Ownership: removes what it made. Threads: one. Failure: Error. After fork: the child must not destroy it (it execs).
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::sandbox {

class Planted {
 public:
  // Owned by `uid`, so that a failure to open it proves the view and not the file's mode. Not below any of `visible`.
  // In `beside`, a private directory that its owner removes also after we were killed, where `uid` could reach it; else
  // (another user's session, an empty name) in a common place.
  // Makes the directory and the TCP listener; the rest can wait until the exec path is on its way: plant().
  [[nodiscard]] static Result<std::unique_ptr<Planted>> make(uid_t uid, gid_t gid, const std::string& beside,
                                                             const std::vector<std::string>& visible);
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
  ~Planted();

  [[nodiscard]] Status plant();
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& abstract_name() const { return abstract_name_; }

 private:
  Planted() = default;
  std::string directory_;
  Fd opened_;
  std::string abstract_name_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  Fd path_listener_;
  Fd abstract_listener_;
  Fd tcp_listener_;
};

}  // namespace oncelatch::sandbox
