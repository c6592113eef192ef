#include "launcher/run.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/untrusted.h"
#include "elicitation/tmux_server.h"
#include "launcher/attached_client.h"
#include "launcher/channel.h"
#include "launcher/errors.h"
#include "launcher/exec/workspace.h"
#include "launcher/exit_codes.h"
#include "launcher/messages.h"
#include "launcher/plan.h"
#include "launcher/progress.h"
#include "launcher/report.h"
#include "launcher/sarif.h"
#include "launcher/session_directory.h"
#include "launcher/supervisor.h"
#include "launcher/worktree.h"
#include "sandbox/cgroup.h"
#include "sandbox/enter.h"
#include "sandbox/guarantees.h"
#include "verify/verify_file.h"

namespace oncelatch::launcher {
namespace {

constexpr int kSupervisorEndLimit = 15'000;  // ms, for the supervisor to clean up after we asked it to end

// What decides over the agent must lie where the agent can't write.
Status check_own_places(const LaunchConfig& config) {
  const char* elsewhere = "name a narrower directory with --workspace DIR";
  const std::string record = TRY(audit_path(config.environment));
  const std::string companion = TRY(sandbox::find_companion("oncelatch-exec"));
  const SessionRoot root = TRY(SessionRoot::open(config.environment));
  TRY(check_outside_workspace(config, record, "the record", elsewhere));
  TRY(check_outside_workspace(config, companion, "oncelatch itself", "install oncelatch outside of it"));
  TRY(check_outside_workspace(config, root.path(), "the session directory", elsewhere));
  if (!config.options.sha256.empty()) return {};
  return check_outside_workspace(config, config.program, "the agent's program",
                                 "pin it with --sha256 HEX, or install it outside");
}

// The names of what is given up.
Result<std::vector<std::string>> check_guarantees(const LaunchConfig& config, const sandbox::HostFacts& facts,
                                                  const std::string& program) {
  std::vector<std::string> lost;
  const std::vector<sandbox::Guarantee> given =
      sandbox::guarantees(facts, make_plan(config, "/session", program).sandbox);
  const std::vector<sandbox::Requirement>& required = sandbox::default_requirements();
  const std::vector<std::string>& accepted = config.options.accepted_losses;
  TRY(sandbox::check_required(given, required, accepted, facts));
  for (const sandbox::Loss& loss : sandbox::losses(given, required, accepted)) {
    tell(fmt::format("accepted loss {}: {}", loss.name, loss.gives_up));
    lost.push_back(loss.name);
  }
  if (!config.identity.loss.empty()) tell("note: " + config.identity.loss);
  if (!config.repository.note.empty()) tell("note: " + config.repository.note);
  if (!config.repository.root.empty())
    tell("note: the workspace is a part of the repository " + escape_for_display(config.repository.root, 400) +
         ": the rest of it can be read, and its .git is written by git");
  if (std::string note = note_on_settings(config.workspace); !note.empty()) tell("note: " + note);
  return lost;
}

// Where the guard's loss was accepted.
Result<std::optional<Quarantine>> open_quarantine(const LaunchConfig& config, const std::vector<std::string>& lost) {
  std::optional<Quarantine> quarantine;
  if (std::find(lost.begin(), lost.end(), "creation_guard") == lost.end()) return quarantine;
  quarantine.emplace(TRY(Quarantine::open(config.environment)));
  TRY(check_outside_workspace(config, quarantine->path(), "the quarantine",
                              "set XDG_STATE_HOME to a directory outside of it"));
  return quarantine;
}

// Everything that can refuse the launch without leaving a trace.
Result<SupervisorSetup> check_everything(const RunOptions& options, std::vector<std::string> environment) {
  LaunchConfig config = TRY(resolve_config(options, std::move(environment)));
  std::optional<std::string> pinned;
  if (!options.sha256.empty()) pinned = options.sha256;
  VerifiedArtifact artifact = TRY(verify::verify_file(config.program, pinned));
  (void)TRY(elicitation::find_tmux());
  TRY(check_own_places(config));
  sandbox::HostFacts facts =
      sandbox::probe_host(options.accepted_losses.empty() ? sandbox::Probing::quick : sandbox::Probing::full);
  if (facts.tier() == sandbox::Tier::landlock) TRY(set_identity(config, sandbox::IdentityChoice::on_host));
  const std::vector<std::string> lost = TRY(check_guarantees(config, facts, artifact.path()));
  std::optional<Quarantine> quarantine = TRY(open_quarantine(config, lost));
  Aftermath aftermath;
  aftermath.quarantine = std::move(quarantine);
  if (config.options.own_branch) aftermath.own_reference.emplace(TRY(OwnReference::remember(config.own_branch)));
  ReportFile report = TRY(ReportFile::open_if_named(options.report, "--report"));
  ReportFile sarif = TRY(ReportFile::open_if_named(options.sarif, "--sarif"));
  TRY(report.check_apart(sarif));
  SessionRoot root = TRY(SessionRoot::open(config.environment));
  for (const std::string& name : root.sweep()) tell("removed what a killed session left: " + name);
  SupervisorSetup setup{std::move(config),
                        TRY(root.create()),
                        std::move(artifact),
                        std::move(facts),
                        Channel(),
                        std::move(report),
                        std::move(sarif),
                        std::move(aftermath),
                        Fd()};
  return setup;
}

// The worktree that a session is to work in: made now, or gone on with.
struct Place {
  std::optional<Worktrees> repository;  // none: no worktree was asked for
  Worktree tree;
  Fd lock;
  bool made = false;
};

Result<Place> find_place(const RunOptions& options, const std::vector<std::string>& environment) {
  Place place;
  if (!options.worktree) return place;
  place.repository.emplace(TRY(Worktrees::open(options.workspace.empty() ? "." : options.workspace, environment)));
  place.made = options.worktree->empty() || !place.repository->exists(*options.worktree);
  place.tree =
      place.made ? TRY(place.repository->create(*options.worktree)) : TRY(place.repository->find(*options.worktree));
  place.lock = TRY(place.repository->lock(place.tree));
  return place;
}

// Everything that can refuse the launch; a worktree that was made for it goes again.
Result<SupervisorSetup> prepare_launch(const RunOptions& options, const std::vector<std::string>& environment,
                                       Place& place) {
  place = TRY(find_place(options, environment));
  RunOptions inside = options;
  if (place.repository) inside.workspace = place.tree.path;
  Result<SupervisorSetup> setup = check_everything(inside, environment);
  if (!setup && place.made) (void)place.repository->drop(place.tree, true);
  if (setup) setup->worktree = std::move(place.lock);
  return setup;
}

void tell_place(const Place& place) {
  if (!place.repository) return;
  tell("worktree " + place.tree.name + ": branch " + place.tree.branch() +
       " has what was committed in it\n  try: oncelatch worktree diff " + place.tree.name + ", then apply or drop");
}

int refuse(const RunOptions& options, const std::vector<std::string>& environment, const Error& error) {
  int code = report_error(error);
  const redact::Redactor redactor = redact::Redactor::from_environment(environment);
  auto save = [&](const std::string& path, const char* option, const Json& body) {
    Result<ReportFile> target = ReportFile::open_if_named(path, option);
    if (!target || !*target) return;
    Status written = write_report(*target, body, redactor);
    if (!written) report_error(written.error());
  };
  save(options.report, "--report",
       {{"exit", {{"code", code}, {"reason", exit_reason_for(error)}}}, {"error", error.message()}});
  save(options.sarif, "--sarif", Json::parse(sarif_text(sarif_of_refusal(error, code)), nullptr, false));
  return code;
}

// What the session left that takes effect on the host.
void tell_lines(const Json& message) {
  const Json* lines = json_array(message, "told");
  if (lines == nullptr) return;
  for (const Json& line : *lines)
    if (line.is_string()) tell(line.get<std::string>());
}

void size_of_terminal(SupervisorSetup& setup) {
  winsize size{};
  if (!has_terminal() || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row < 2) return;
  setup.columns = size.ws_col;
  setup.rows = size.ws_row - 1;  // tmux's status line takes one
}

// The front end while the session lives.
class FrontEnd {
 public:
  FrontEnd(Channel channel, pid_t supervisor, SessionDirectory session, std::vector<std::string> environment)
      : channel_(std::move(channel)),
        supervisor_(supervisor),
        session_(std::move(session)),
        environment_(std::move(environment)) {}

  int wait() {
    watch_signals();
    while (!code_) {
      pollfd fds[] = {
          {channel_.fd(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {client_ ? client_->pidfd() : -1, POLLIN, 0}};
      int ready = ::poll(fds, 3, ending_ ? kSupervisorEndLimit : -1);
      if (ready == 0 && ending_) ::kill(supervisor_, SIGKILL);  // it had its time; what is inside dies with it
      read_signals();
      read_messages();
      check_client();
    }
    if (client_) client_->wait_for_end();
    client_.reset();  // the terminal is ours again before anything is printed
    tell_lines(ending_message_);
    if (!farewell_.empty()) tell(farewell_);
    return *code_;
  }

 private:
  void watch_signals() {
    sigset_t watched;
    sigemptyset(&watched);
    for (int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&watched, number);
    ::sigprocmask(SIG_BLOCK, &watched, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    signals_ = Fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void read_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      ending_ = true;
      channel_.send({{"kind", "end"}, {"signal", info.ssi_signo}});
    }
  }

  void read_messages() {
    for (;;) {
      Channel::Message message = channel_.receive();
      if (message.closed) return supervisor_gone();
      if (!message.body) return;
      handle(*message.body);
      if (code_) return;
    }
  }

  void handle(const Json& message) {
    const std::string* kind = json_string(message, "kind");
    if (kind == nullptr) return;
    if (*kind == "ready") show_session();
    if (*kind == "running") return detach();
    if (*kind == "event" && !client_) print_progress(message);
    if (*kind == "failed") {
      const std::string* text = json_string(message, "message");
      farewell_ = text != nullptr ? *text : "the session could not be started";
    }
    if (*kind == "failed" || *kind == "ended")
      code_ = static_cast<int>(json_integer(message, "exit").value_or(kExitLauncher));
    if (*kind == "ended") say_end(message);
    if (code_) ::waitpid(supervisor_, nullptr, 0);
  }

  void say_end(const Json& message) {
    ending_message_ = message;
    const std::string* reason = json_string(message, "reason");
    if (reason != nullptr && *reason != "the agent ended")
      farewell_ = "session ended: " + escape_for_display(*reason, 400);
  }

  void show_session() {
    if (!has_terminal()) {
      fmt::print(stderr, "oncelatch: session {} runs; watch it with: oncelatch attach {}\n", session_.id(),
                 session_.id());
      return;
    }
    Result<AttachedClient> client = AttachedClient::start(session_.path(), environment_, 0);
    if (client) {
      client_.emplace(std::move(*client));
    } else {
      farewell_ = client.error().message();
      channel_.send({{"kind", "end"}, {"signal", SIGTERM}});
    }
  }

  // The client ended: by the session's end (a message says so), by a person who detached, or by a fault.
  void check_client() {
    if (!client_ || code_ || asked_) return;
    std::optional<ExitStatus> status = client_->poll();
    if (!status) return;
    asked_ = true;
    bool detached = status->shell_code() == 0;
    channel_.send(detached ? Json{{"kind", "client_gone"}} : Json{{"kind", "end"}, {"signal", SIGHUP}});
  }

  void detach() {
    channel_.send({{"kind", "detach"}});
    farewell_ = fmt::format("detached; the session goes on. Come back with: oncelatch attach {}", session_.id());
    code_ = 0;
  }

  // Killed: what it left on disk is ours to remove; its processes died with it.
  void supervisor_gone() {
    int status = 0;
    ::waitpid(supervisor_, &status, 0);
    Status removed = session_.remove();
    farewell_ =
        "supervisor: ended without a word; the agent was ended with it\n  try: oncelatch audit list shows what was "
        "recorded";
    if (!removed) farewell_ += "\n" + removed.error().message();
    code_ = kExitLauncher;
  }

  Channel channel_;
  pid_t supervisor_;
  SessionDirectory session_;
  std::vector<std::string> environment_;
  Fd signals_;
  std::optional<AttachedClient> client_;
  std::optional<int> code_;
  std::string farewell_;
  Json ending_message_;  // null until the session has ended
  bool ending_ = false;
  bool asked_ = false;
};

Result<std::string> choose_session(SessionRoot& root, const std::string& id) {
  std::vector<std::string> living = root.living();
  if (id.empty() && living.size() == 1) return living[0];
  for (const std::string& one : living) {
    if (one == id) return one;
  }
  std::string list;
  for (const std::string& one : living) list += (list.empty() ? "" : ", ") + one;
  if (living.empty()) return fail("attach", "sessions", "none is running", "oncelatch run kiro");
  return fail("attach", escape_for_display(id, 100), id.empty() ? "several sessions run" : "no such running session",
              "one of: " + list);
}

Result<Channel> connect_front(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail("attach", path, "socket name too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno("attach", path, errno, "oncelatch attach without an id lists what runs");
  }
  return Channel(std::move(fd));
}

Result<Fd> signals_that_end() {
  sigset_t watched;
  sigemptyset(&watched);
  for (int number : {SIGTERM, SIGHUP, SIGINT}) sigaddset(&watched, number);
  Fd signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals || ::sigprocmask(SIG_BLOCK, &watched, nullptr) != 0)
    return fail_errno("attach", "signals", errno, {}, "signalfd");
  return signals;
}

Result<int> attach_to(const std::string& id, const std::vector<std::string>& environment) {
  SessionRoot root = TRY(SessionRoot::open(environment));
  std::string session = TRY(choose_session(root, id));
  std::string path = root.path() + "/" + session;
  Channel channel = TRY(connect_front(path + "/front.sock"));
  AttachedClient client = TRY(AttachedClient::start(path, environment, SIGTERM));
  const Fd signals = TRY(signals_that_end());
  // The client ends when a person detaches and when the session ends: the supervisor says which it was.
  for (bool asked = false;;) {
    pollfd fds[] = {{channel.fd(), POLLIN, 0}, {asked ? -1 : client.pidfd(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (::poll(fds, 3, asked ? kSupervisorEndLimit : -1) == 0) {
      return fail("attach", session, "its supervisor doesn't answer", "oncelatch attach lists what still runs");
    }
    signalfd_siginfo signal{};
    if (::read(signals.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal))
      return 128 + static_cast<int>(signal.ssi_signo);  // the session goes on, the terminal is given back
    Channel::Message message = channel.receive();
    const std::string* kind = message.body ? json_string(*message.body, "kind") : nullptr;
    if (kind != nullptr && *kind == "running") return 0;
    if (kind != nullptr && *kind == "ended") {
      client.wait_for_end();
      tell_lines(*message.body);
      return static_cast<int>(json_integer(*message.body, "exit").value_or(kExitLauncher));
    }
    if (message.closed) return kExitLauncher;
    if (!asked && client.poll()) asked = channel.send({{"kind", "client_gone"}});
  }
}

}  // namespace

int run(const RunOptions& options, std::vector<std::string> environment) {
  Place place;
  Result<SupervisorSetup> setup = prepare_launch(options, environment, place);
  if (!setup) return refuse(options, environment, setup.error());
  size_of_terminal(*setup);
  Result<std::pair<Channel, Channel>> channel = Channel::pair();
  if (!channel) return refuse(options, environment, channel.error());
  std::fflush(nullptr);
  pid_t supervisor = ::fork();
  if (supervisor < 0) return refuse(options, environment, fail_errno("supervisor", "fork", errno).value());
  if (supervisor == 0) {
    ::setsid();
    channel->first.close();
    setup->front_end = std::move(channel->second);
    std::_Exit(supervise(std::move(*setup)));
  }
  channel->second.close();
  setup->session.forget_lock();
  FrontEnd front(std::move(channel->first), supervisor, std::move(setup->session), std::move(environment));
  const int code = front.wait();
  sandbox::Cgroup::sweep();  // the supervisor's rules don't let it
  tell_place(place);
  return code;
}

int attach(const std::string& id, std::vector<std::string> environment) {
  Result<int> code = attach_to(id, environment);
  return code ? *code : report_error(code.error());
}

}  // namespace oncelatch::launcher
