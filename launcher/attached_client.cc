#include "launcher/attached_client.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/beneath.h"
#include "elicitation/tmux_server.h"
#include "launcher/environment.h"
#include "launcher/session_directory.h"
#include "sandbox/narrow.h"

namespace oncelatch::launcher {
namespace {
// Leaves the alternate screen, shows the cursor, ends mouse, focus and paste reporting, resets colours.
constexpr std::string_view kRestore =
    "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[m";
}  // namespace

bool has_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

Result<AttachedClient> AttachedClient::start(const std::string& session_path,
                                             const std::vector<std::string>& environment, int death_signal) {
  elicitation::TmuxProgram tmux = TRY(elicitation::find_tmux());
  AttachedClient attached;
  if (!has_terminal() || ::tcgetattr(STDIN_FILENO, &attached.saved_) != 0) {
    return fail("terminal", "standard input", "is no terminal", "run it in a terminal");
  }
  Spawn spawn;
  // A server that was taken over may tell its client to run a program or to open a file: confined, it can't.
  const std::string directory = tmux_directory(session_path);
  spawn.argv = TRY(sandbox::narrow_tmux_client(tmux.path, directory, environment_value(environment, "HOME")));
  spawn.path = spawn.argv.front();
  const std::vector<std::string> attach = elicitation::attach_argv(tmux, directory);
  spawn.argv.insert(spawn.argv.end(), attach.begin() + 1, attach.end());
  spawn.environment = elicitation::attach_environment(environment);
  spawn.keep = {{0, STDIN_FILENO}, {1, STDOUT_FILENO}, {2, STDERR_FILENO}};
  spawn.death_signal = death_signal;
  attached.client_ = TRY(oncelatch::start(spawn));
  attached.armed_ = true;
  return attached;
}

AttachedClient::AttachedClient(AttachedClient&& other) noexcept
    : client_(std::move(other.client_)),
      saved_(other.saved_),
      ended_(other.ended_),
      armed_(std::exchange(other.armed_, false)) {}

AttachedClient::~AttachedClient() {
  if (!armed_) return;
  if (!poll()) {
    (void)client_.signal(SIGTERM);  // tmux restores the terminal itself
    wait_for_end(std::chrono::seconds(1));
  }
  // Only after a client that could not do it: its own restoring ends on the line below what was there.
  bool clean = ended_ && !ended_->signaled;
  ::signal(SIGTTOU, SIG_IGN);
  if (!clean) (void)write_all(STDOUT_FILENO, kRestore, "terminal");
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
}

std::optional<ExitStatus> AttachedClient::poll() {
  if (ended_) return ended_;
  Result<std::optional<ExitStatus>> status = client_.poll();
  ended_ = status ? *status : std::optional<ExitStatus>(ExitStatus{true, SIGKILL});
  return ended_;
}

void AttachedClient::wait_for_end(std::chrono::milliseconds limit) {
  if (ended_) return;
  Result<ExitStatus> status = client_.wait(limit);
  if (status) ended_ = *status;
}

}  // namespace oncelatch::launcher
