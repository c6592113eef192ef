// The session's private directory on the host: <runtime>/oncelatch/<session id>/, mode 0700, held by a lock as long as
// its supervisor lives.
//
//   SessionRoot root = TRY(SessionRoot::open(environment));
//   root.sweep();                                        // leftovers of killed launchers
//   SessionDirectory session = TRY(root.create());
//   TRY(write_file_atomic(session.fd(), "x", "", 0600));
//
// Runtime directory: $XDG_RUNTIME_DIR when it is the caller's and private, else /tmp/oncelatch-<uid>, made 0700 and
// checked (owner, type, no symlink). Ownership: SessionDirectory owns its descriptors; remove() ends it. Threads: one.
// Failure: Error with the path; an existing directory that isn't private is refused. Layout: lock
// tmux/tmux.sock tmux/relay.fifo approvals.sock front.sock record.jsonl home/. After fork: the child may keep using it,
// the parent then calls forget().
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::launcher {

// Of a directory that `exec` uses; nothing to attach to.
inline constexpr char kCommandPrefix[] = "exec-";

// "20260131-235959-k3f9": the time and four random characters.
[[nodiscard]] Result<std::string> new_session_id();
[[nodiscard]] bool is_session_name(const std::string& name);

class SessionDirectory {
 public:
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return directory_.get(); }
  // Drops the lock's descriptor without removing anything (the other side of a fork keeps it).
  void forget_lock() { lock_.reset(); }
  // Removes the directory with all in it, by descriptor.
  Status remove();

 private:
  friend class SessionRoot;
  std::string id_;
  std::string path_;
  Fd root_;
  Fd directory_;
  Fd lock_;
};

// Of tmux's socket and the relay's FIFO, and of nothing else: the confined server may write there.
[[nodiscard]] inline std::string tmux_directory(const std::string& session_path) {
  return session_path + "/tmux";
}

class SessionRoot {
 public:
  [[nodiscard]] static Result<SessionRoot> open(const std::vector<std::string>& environment);
  [[nodiscard]] const std::string& path() const { return path_; }
  // `prefix` stands before the id.
  [[nodiscard]] Result<SessionDirectory> create(const std::string& prefix = {});
  // Removes directories whose lock nobody holds; returns their names. Living ones are never touched.
  std::vector<std::string> sweep();
  // Ids of living sessions that can be attached to, sorted.
  [[nodiscard]] std::vector<std::string> living();

 private:
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool is_dead(const std::string& name) const;
  std::string path_;
  Fd root_;
};

}  // namespace oncelatch::launcher
