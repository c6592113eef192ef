#include "elicitation/tmux_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>

#include "base/fd.h"
#include "elicitation/tmux_control.h"
#include "elicitation/tmux_options.h"
#include "elicitation/tmux_pane.h"

namespace oncelatch::elicitation {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds start_limit{5000};
constexpr std::size_t longest_socket_path = 100;  // sun_path holds 108

// The socket's name stands before anybody listens on it: a client that came in between would want to start a server of
// its own.
bool listens(const std::string& path) {
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Status check(const TmuxSetup& setup, const std::string& socket) {
  if (setup.pane_argv.empty() || setup.pane_argv[0].substr(0, 1) != "/") {
    return fail("tmux", "pane", "its program must be an absolute path");
  }
  if (socket.size() > longest_socket_path) {
    return fail("tmux", socket, "the path is too long for a socket", "use a shorter state or runtime directory");
  }
  struct stat status {};
  if (::lstat(socket.c_str(), &status) == 0) return fail("tmux", socket, "something is there already");
  return {};
}

constexpr int confining_failed = 125;

Failure ended_at_once(const ExitStatus& status, bool confined) {
  if (confined && status.shell_code() == confining_failed)
    return fail("tmux", "server", "could not be confined", "oncelatch doctor shows what this machine can enforce");
  return fail("tmux", "server", "it ended at once with " + std::to_string(status.shell_code()));
}

// What starts tmux: through the confining program where there is one.
std::vector<std::string> command_or(const std::vector<std::string>& command, const TmuxProgram& tmux) {
  return command.empty() ? std::vector<std::string>{tmux.path} : command;
}

Result<Process> start_server(const std::vector<std::string>& command, const std::string& socket) {
  Spawn spawn;
  spawn.path = command.front();
  spawn.argv = command;
  spawn.argv.insert(spawn.argv.end(), {"-D", "-S", socket, "-f", "/dev/null"});
  spawn.environment = tmux_environment();
  spawn.directory = "/";
  spawn.new_session = true;
  spawn.death_signal = SIGKILL;
  Process server = TRY(oncelatch::start(spawn));
  const auto deadline = steady_clock::now() + start_limit;
  while (!listens(socket)) {
    const std::optional<ExitStatus> ended = TRY(server.poll());
    if (ended) return ended_at_once(*ended, command.size() > 1);
    if (steady_clock::now() > deadline) return fail("tmux", "server", "it listens to nobody within 5 s");
    pollfd ended_early{server.pidfd(), POLLIN, 0};
    (void)::poll(&ended_early, 1, 1);
  }
  return server;
}

}  // namespace

struct TmuxServer::State {
  std::string socket;
  Process server;
  std::optional<TmuxControl> control;
  std::optional<TmuxPane> pane;

  ~State() {
    if (server.running()) {
      if (control && !control->ended()) (void)control->ask("kill-server");
      if (!server.wait(milliseconds(500))) {
        (void)server.signal(SIGKILL);
        (void)server.wait(milliseconds(2000));
      }
    }
    if (!socket.empty()) (void)::unlink(socket.c_str());
  }
};

TmuxServer::TmuxServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
TmuxServer::TmuxServer(TmuxServer&&) noexcept = default;
TmuxServer& TmuxServer::operator=(TmuxServer&&) noexcept = default;
TmuxServer::~TmuxServer() = default;

Result<TmuxServer> TmuxServer::start(const TmuxSetup& setup) {
  const TmuxProgram tmux = TRY(find_tmux());
  auto state = std::make_unique<State>();
  const std::string socket = setup.directory + "/tmux.sock";
  TRY(check(setup, socket));
  state->socket = socket;
  state->server = TRY(start_server(command_or(setup.server_command, tmux), socket));
  state->control.emplace(
      TRY(TmuxControl::connect(command_or(setup.client_command, tmux), socket, first_commands(setup))));
  state->pane.emplace(TRY(TmuxPane::find(&*state->control)));
  return TmuxServer(std::move(state));
}

Pane& TmuxServer::pane() {
  return *state_->pane;
}

std::vector<pollfd> TmuxServer::poll_fds() const {
  std::vector<pollfd> fds;
  if (state_->control->fd() >= 0) fds.push_back({state_->control->fd(), POLLIN, 0});
  if (state_->server.running()) fds.push_back({state_->server.pidfd(), POLLIN, 0});
  return fds;
}

bool TmuxServer::handle_ready() {
  (void)state_->server.poll();
  return state_->control->handle_ready();
}

bool TmuxServer::alive() const {
  return state_->server.running() && !state_->control->ended() && ::kill(state_->server.pid(), 0) == 0;
}

const Process& TmuxServer::process() const {
  return state_->server;
}

Status TmuxServer::show_notice(const std::string& text) {
  (void)TRY(state_->control->ask("set-option -g status-right " + tmux_quoted(escaped_status(text))));
  return {};
}

Status TmuxServer::resize(int columns, int rows) {
  const std::vector<TmuxReply> replies =
      TRY(state_->control->ask("resize-window -t main: -x " + std::to_string(columns) + " -y " + std::to_string(rows) +
                               " ; set-option -w -t main: window-size latest"));
  for (const TmuxReply& reply : replies) {
    if (reply.error) return fail("tmux", "window", "can't be resized");
  }
  return {};
}

}  // namespace oncelatch::elicitation
