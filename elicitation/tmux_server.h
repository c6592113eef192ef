// A private tmux server with one pane: own socket, empty configuration, counted environment, no clipboard, no
// passthrough, no key that reaches a shell. It runs as the caller's child (tmux -D), outside the sandbox, behind a
// program that confines it when the caller names one.
//
//   TmuxServer tmux = TRY(TmuxServer::start({.directory = session_dir, .pane_argv = {relay, socket}, ...}));
//   TmuxPane pane(tmux.control());
//   run(tmux.attach_argv());
//
// Ownership: owns the server process; destruction ends it (kill-server, then SIGKILL by pidfd) and removes the socket.
// Threads: one. Failure: no tmux, a version before 3.3, a server that doesn't answer within 5 s: an Error with what to
// install. After fork: not for the child. Source: tmux(1); contracts/bridge-and-env.md 4; notes/experiments.md 1c.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "elicitation/pane.h"

namespace oncelatch::elicitation {

struct TmuxProgram {
  std::string path;
  int major = 0;
  int minor = 0;
  std::string version;  // "3.3a"
};
// Finds tmux in the system's directories and checks the version (3.3 or later).
[[nodiscard]] Result<TmuxProgram> find_tmux();

struct TmuxSetup {
  std::string directory;               // host path of a 0700 directory; the socket is "tmux.sock" in it
  std::vector<std::string> pane_argv;  // program (absolute) and arguments of the pane
  std::string status_text;             // status line, display-safe; how to detach stands in it
  int columns = 80;
  int rows = 24;
  // Programs with their first arguments that confine the server and the control client and then become tmux; the last
  // word is tmux's path. Empty: tmux as it is.
  std::vector<std::string> server_command = {};
  std::vector<std::string> client_command = {};
};

class TmuxServer {
 public:
  [[nodiscard]] static Result<TmuxServer> start(const TmuxSetup& setup);
  TmuxServer(TmuxServer&&) noexcept;
  TmuxServer& operator=(TmuxServer&&) noexcept;
  ~TmuxServer();

  [[nodiscard]] Pane& pane();
  // Control-mode output ready to be read (notifications); handle_ready() drains it and says whether the pane changed.
  [[nodiscard]] std::vector<pollfd> poll_fds() const;
  bool handle_ready();
  [[nodiscard]] bool alive() const;
  [[nodiscard]] const Process& process() const;
  // At the right of the status line, display-safe; empty: nothing.
  Status show_notice(const std::string& text);
  // Fixes the window's size (nobody attached).
  Status resize(int columns, int rows);

 private:
  struct State;
  explicit TmuxServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// argv of a client that attaches the caller's terminal, and its environment (the attach allowlist of
// contracts/bridge-and-env.md 1 taken from `environment`).
[[nodiscard]] std::vector<std::string> attach_argv(const TmuxProgram& tmux, const std::string& directory);
[[nodiscard]] std::vector<std::string> attach_environment(const std::vector<std::string>& environment);

}  // namespace oncelatch::elicitation
