// The tmux client that shows a session on this terminal, and the terminal's state around it.
//
//   AttachedClient client = TRY(AttachedClient::start(session_path, environment, SIGTERM));
//   poll(client.pidfd()); client.poll();
//
// Ownership: owns the client process; destruction ends it and restores the terminal as it was at start (modes, main
// screen, cursor). Threads: one. Failure: no terminal on standard input and output, no tmux: Error. After fork: no.
#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace oncelatch::launcher {

class AttachedClient {
 public:
  // `death_signal`: what the client gets when we are killed; 0 where the supervisor then ends the server, whose end
  // lets the client restore the terminal.
  [[nodiscard]] static Result<AttachedClient> start(const std::string& session_path,
                                                    const std::vector<std::string>& environment, int death_signal);
  AttachedClient(AttachedClient&& other) noexcept;
  AttachedClient& operator=(AttachedClient&&) = delete;
  ~AttachedClient();

  [[nodiscard]] int pidfd() const { return client_.pidfd(); }
  // How it ended; nullopt while it runs.
  [[nodiscard]] std::optional<ExitStatus> poll();
  void wait_for_end(std::chrono::milliseconds limit = std::chrono::seconds(2));

 private:
  AttachedClient() = default;
  Process client_;
  termios saved_{};
  std::optional<ExitStatus> ended_;
  bool armed_ = false;
};

[[nodiscard]] bool has_terminal();

}  // namespace oncelatch::launcher
