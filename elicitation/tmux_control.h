// One long-lived control-mode client of our private tmux server: a command line in, its replies out; notifications in
// between.
//
//   TmuxControl control = TRY(TmuxControl::connect({"/usr/bin/tmux"}, socket, {}));
//   std::vector<TmuxReply> replies = TRY(control.ask("display-message -p '#{pane_id}'"));
//
// Ownership: owns the client process and its socket pair. Threads: one. Failure: no answer within a second ends the
// client (so that nothing unread is run later) and is an Error; the next call connects anew. Units: milliseconds. After
// fork: not for the child. Rows of a captured pane are the agent's and may imitate "%end": they are taken by count,
// never by looking. Source: tmux(1).
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"

namespace oncelatch::elicitation {

struct TmuxReply {
  bool error = false;
  std::vector<std::string> lines;
};

struct TmuxCapture {
  std::string facts;  // the line that the facts format gave
  std::vector<std::string> rows;
};

class TmuxControl {
 public:
  // `command` starts tmux: its path, or a program that confines it, with arguments and tmux's path last. `first` are
  // commands run before attaching (tmux's own argument list, ";" between commands); usually empty.
  [[nodiscard]] static Result<TmuxControl> connect(std::vector<std::string> command, std::string socket,
                                                   std::vector<std::string> first);

  [[nodiscard]] Result<std::vector<TmuxReply>> ask(const std::string& commands);
  // Facts and the visible rows from one server step. `facts_format` begins with "#{pane_height} ".
  [[nodiscard]] Result<TmuxCapture> capture(const std::string& facts_format, const std::string& pane);

  [[nodiscard]] int fd() const { return stream_.get(); }
  // Reads what came without waiting; true when the pane may have changed since the last call.
  bool handle_ready();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  TmuxControl(std::vector<std::string> command, std::string socket)
      : command_(std::move(command)), socket_(std::move(socket)) {}
  using Deadline = std::chrono::steady_clock::time_point;

  Status open(const std::vector<std::string>& first, std::chrono::milliseconds limit);
  Status wait_attached(Deadline deadline);
  Status reopen_if_closed();
  void close();
  Failure broken(const std::string& what);
  Status send_line(const std::string& line);
  Result<std::string> next_line(Deadline deadline);
  Status fill(Deadline deadline);
  Result<TmuxReply> next_reply(Deadline deadline, std::optional<std::size_t> raw_rows);
  Result<std::vector<TmuxReply>> collect(const std::string& token, Deadline deadline);
  void note(std::string_view line);

  std::vector<std::string> command_;
  std::string socket_;
  Process client_;
  Fd stream_;
  std::string buffer_;
  std::size_t taken_ = 0;  // bytes of buffer_ already used
  unsigned long next_token_ = 1;
  bool changed_ = false;
  bool ended_ = false;  // the server said goodbye
};

// 'text' for tmux's command language. Single quotes inside are closed and escaped.
[[nodiscard]] std::string tmux_quoted(std::string_view text);
// One argument of tmux's own command line: a last ';' would end the command.
[[nodiscard]] std::string tmux_argument(std::string_view text);
// The counted environment of tmux's server and control client.
[[nodiscard]] std::vector<std::string> tmux_environment();

}  // namespace oncelatch::elicitation
