#include "launcher/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "approvals/broker.h"
#include "audit/decision_log.h"
#include "audit/log.h"
#include "base/beneath.h"
#include "elicitation/mirror.h"
#include "elicitation/tmux_server.h"
#include "launcher/environment.h"
#include "launcher/errors.h"
#include "launcher/exit_codes.h"
#include "launcher/front_ends.h"
#include "launcher/held_prompts.h"
#include "launcher/home.h"
#include "launcher/plan.h"
#include "launcher/prompts.h"
#include "launcher/relay_link.h"
#include "launcher/report.h"
#include "launcher/sarif.h"
#include "launcher/session_report.h"
#include "launcher/terminal.h"
#include "policy/rules.h"
#include "redact/redactor.h"
#include "sandbox/enter.h"
#include "sandbox/narrow.h"

namespace oncelatch::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRelayLimit{5000};
constexpr milliseconds kEndLimit{3000};
constexpr std::size_t kMostRecorded = 500;  // effects in the record; the report has all

class Supervisor {
 public:
  explicit Supervisor(SupervisorSetup setup)
      : setup_(std::move(setup)), redactor_(redact::Redactor::from_environment(setup_.config.environment)) {}

  int run() {
    Status started = start();
    if (!started) return fail_start(started.error());
    fronts_->tell_all({{"kind", "ready"}, {"session", setup_.session.id()}});
    while (!ended_) step();
    return finish();
  }

 private:
  Status start() {
    TRY(watch_signals());
    TRY(open_record());
    setup_.aftermath.git_directories = git_directories();
    TRY(setup_.aftermath.watch(watched()));
    TRY(make_files());
    TRY(open_terminals());
    TRY(start_mirror());
    TRY(enter_sandbox());
    return narrow();
  }

  [[nodiscard]] std::vector<WatchedRoot> watched() const {
    std::vector<WatchedRoot> roots = {{setup_.config.workspace}};
    const std::string& repository = setup_.config.repository.directory;
    if (!repository.empty()) roots.push_back({repository, true});
    return roots;
  }

  // Where what git outside would follow is moved aside at the end.
  [[nodiscard]] std::vector<std::string> git_directories() const {
    std::vector<std::string> places;
    for (const std::string& place : {setup_.config.workspace + "/.git", setup_.config.repository.directory}) {
      struct stat found {};
      if (!place.empty() && ::lstat(place.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) places.push_back(place);
    }
    return places;
  }

  Status watch_signals() {
    sigset_t watched;
    sigemptyset(&watched);
    for (int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&watched, number);
    ::sigprocmask(SIG_BLOCK, &watched, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    signals_ = Fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) return fail_errno("supervisor", "signalfd", errno);
    Fd listener = TRY(listen_in(setup_.session.fd(), "front.sock", SOCK_SEQPACKET));
    fronts_.emplace(std::move(setup_.front_end), std::move(listener));
    return {};
  }

  // Nothing runs that isn't recorded: the record is the first thing that must work.
  Status open_record() {
    events_ = TRY(Events::open(setup_.config.options.events, redactor_, clock_));
    std::string path = TRY(audit_path(setup_.config.environment));
    log_.emplace(TRY(audit::Log::open(path, redactor_, clock_)));
    std::string policy = TRY(log_->store_text(setup_.config.rules.text()));
    TRY(log_->begin(setup_.session.id(), session_start_body(setup_.config, setup_.artifact, setup_.facts, policy)));
    decisions_.emplace(*log_, redactor_);
    return {};
  }

  Status make_files() {
    TRY(make_home(setup_.session.fd(), setup_.config));
    recorder_ = TRY(make_recorder(setup_.session.fd(), setup_.config));
    if (setup_.config.on_host) TRY(make_temporary(setup_.session.fd(), setup_.config));
    broker_.emplace(TRY(approvals::Broker::listen(setup_.session.fd(), "approvals.sock", setup_.session.id(), clock_)));
    return {};
  }

  Status open_terminals() {
    terminal_.emplace(TRY(Terminal::open(clock_)));
    elicitation::TmuxSetup tmux;
    tmux.directory = tmux_directory(setup_.session.path());
    const Fd directory = TRY(make_directory(setup_.session.fd(), "tmux", 0700));
    relay_.emplace(TRY(RelayLink::listen(directory.get(), tmux.directory)));
    tmux.pane_argv = {TRY(sandbox::find_companion("oncelatch-relay")), relay_->path()};
    tmux_program_ = TRY(find_system_program("tmux"));  // its version was checked before the launch
    tmux.server_command = TRY(sandbox::narrow_tmux_server({tmux_program_, tmux.pane_argv[0], tmux.directory}));
    tmux.client_command = TRY(sandbox::narrow_tmux_client(tmux_program_, tmux.directory, ""));
    tmux.status_text = fmt::format("oncelatch {} | {} | detach: C-] d", setup_.session.id(), setup_.config.agent->name);
    tmux.columns = setup_.columns;
    tmux.rows = setup_.rows;
    tmux_.emplace(TRY(elicitation::TmuxServer::start(tmux)));
    return terminal_->connect_pane(TRY(relay_->accept_terminal(kRelayLimit)));
  }

  Status start_mirror() {
    prompts_.emplace(PromptsSetup{.session_id = setup_.session.id(),
                                  .agent = std::string(setup_.config.agent->name),
                                  .working_directory = setup_.config.workspace,
                                  .unattended = setup_.config.options.unattended,
                                  .broker = &*broker_,
                                  .events = &events_,
                                  .redactor = &redactor_,
                                  .clock = &clock_,
                                  .tell_front_ends = [this](const Json& message) { fronts_->tell_all(message); }});
    elicitation::MirrorSetup mirror;
    mirror.recorder_file = std::move(recorder_);
    mirror.recorder_path = setup_.session.path() + "/record.jsonl";
    mirror.pane = &tmux_->pane();
    mirror.gate = &*terminal_;
    mirror.decisions = &*decisions_;
    mirror.listener = &*prompts_;
    mirror.clock = &clock_;
    mirror.unattended = setup_.config.options.unattended;
    mirror.decide = [this](const policy::PermissionRequest& request) { return decide(request); };
    mirror_.emplace(TRY(elicitation::Mirror::start(std::move(mirror))));
    return {};
  }

  [[nodiscard]] policy::Decision decide(const policy::PermissionRequest& request) const {
    return policy::decide(setup_.config.rules, request, {setup_.config.workspace, setup_.config.workspace});
  }

  Status enter_sandbox() {
    LaunchPlan plan = make_plan(setup_.config, setup_.session.path(), setup_.artifact.path());
    Result<sandbox::Confined> entered =
        sandbox::enter(plan.sandbox, setup_.artifact, setup_.facts, {.terminal = terminal_->slave()});
    if (!entered) return explain_refusal(entered.error(), plan.sandbox);
    confined_.emplace(std::move(*entered));
    held_.emplace(
        HeldPromptsSetup{.workspace = setup_.config.workspace,
                         .unattended = setup_.config.options.unattended,
                         .decisions = &*decisions_,
                         .prompts = &*prompts_,
                         .clock = &clock_,
                         .decide = [this](const policy::PermissionRequest& request) { return decide(request); }},
        std::move(confined_->held));
    TRY(log_->append("self_test", self_test_body(confined_->self_test)));
    events_.emit("session_started", {{"session", setup_.session.id()}, {"workspace", setup_.config.workspace}});
    return {};
  }

  // The machine gave less than the quick look had promised: the whole truth, with what could be accepted.
  static Status explain_refusal(const Error& error, const sandbox::SandboxPlan& plan) {
    if (error.errno_value != ENOTSUP) return Failure(error);
    sandbox::HostFacts facts = sandbox::probe_host(sandbox::Probing::full);
    TRY(sandbox::check_required(sandbox::guarantees(facts, plan), sandbox::default_requirements(), {}, facts));
    return Failure(error);
  }

  // From here on hostile bytes are read: the supervisor keeps what it needs for them, and for the end, only.
  Status narrow() {
    const std::string record = TRY(audit_path(setup_.config.environment));
    std::vector<std::string> reports;
    for (const ReportFile* file : {&setup_.report, &setup_.sarif})
      if (!file->place().empty()) reports.push_back(file->place());
    std::vector<std::string> looked_at;
    for (const WatchedRoot& root : watched()) looked_at.push_back(root.path);
    return sandbox::narrow_self(TRY(sandbox::supervisor_rules(
        {setup_.session.path(), record.substr(0, record.rfind('/')), std::move(reports), std::move(looked_at),
         setup_.aftermath.written(), git_directories(), tmux_program_})));
  }

  void step() {
    std::vector<pollfd> fds = poll_set();
    ::poll(fds.data(), fds.size(), poll_timeout());
    read_signals();
    FrontEnds::Wish wish = fronts_->handle_ready();
    if (wish.end) end(fmt::format("signal {}", wish.signal), 128 + wish.signal);
    if (relay_->handle_ready()) terminal_->follow_size();
    bool changed = terminal_->handle_ready();
    changed = tmux_->handle_ready() || changed;
    if (changed) mirror_->screen_changed();
    mirror_->handle_ready();
    held_->handle_ready();
    for (const approvals::Answer& answer : broker_->handle_ready()) take_answer(answer);
    show_waiting();
    if (relay_->closed() || terminal_->pane_closed() || !tmux_->alive()) {
      end("the session's terminal ended", kExitLauncher);
    }
    check_agent();
    if (!prompts_->stuck().empty()) end(prompts_->stuck(), kExitPolicyDenied);
  }

  std::vector<pollfd> poll_set() const {
    std::vector<pollfd> all{
        {signals_.get(), POLLIN, 0}, {confined_->process.pidfd(), POLLIN, 0}, {relay_->fd(), POLLIN, 0}};
    for (const auto& part : {fronts_->poll_fds(), terminal_->poll_fds(), tmux_->poll_fds(), mirror_->poll_fds(),
                             held_->poll_fds(), broker_->poll_fds()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  int poll_timeout() const {
    std::optional<Nanoseconds> deadline = mirror_->next_deadline();
    if (std::optional<Nanoseconds> held = held_->next_deadline(); held && (!deadline || *held < *deadline))
      deadline = held;
    if (!deadline) return 30'000;
    Nanoseconds left = *deadline - clock_.monotonic();
    if (left <= Nanoseconds(0)) return 0;
    return static_cast<int>(std::min<std::int64_t>(left.count() / 1'000'000 + 1, 30'000));
  }

  void read_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) continue;
      end(fmt::format("signal {}", info.ssi_signo), 128 + static_cast<int>(info.ssi_signo));
    }
  }

  void take_answer(const approvals::Answer& answer) {
    Status taken = HeldPrompts::knows(answer.local_id)
                       ? held_->answer(answer)
                       : mirror_->answer(answer.local_id, answer.verdict, policy::Decider::person, answer.shown_sha256);
    if (taken) prompts_->answered(answer.local_id, answer.verdict);
    if (!taken) events_.emit("answer_refused", {{"id", answer.local_id}, {"error", taken.error().message()}});
  }

  // The agent's own panel says nothing of these, and its call waits.
  void show_waiting() {
    const std::size_t waiting = held_->waiting();
    if (waiting == shown_waiting_) return;
    shown_waiting_ = waiting;
    (void)tmux_->show_notice(waiting == 0 ? ""
                                          : fmt::format("workspace guard asks ({}): oncelatch approvals", waiting));
  }

  void check_agent() {
    Result<std::optional<ExitStatus>> status = confined_->process.poll();
    if (!status) return end("the agent's process was lost: " + status.error().message(), kExitLauncher);
    if (!*status) return;
    child_ = **status;
    ending_ = sandbox::ending_of(*confined_, *child_);
    const std::string limit = sandbox::is_limit(ending_) ? fmt::format("limit: {}", sandbox::ending_name(ending_)) : "";
    end(limit.empty() ? "the agent ended" : limit, child_->shell_code());
  }

  void end(const std::string& reason, int code) {
    if (ended_) return;
    ended_ = true;
    reason_ = reason;
    code_ = code;
  }

  int fail_start(const Error& error) {
    confined_.reset();
    code_ = exit_code_for(error);
    if (log_) (void)log_->end({{"reason", exit_reason_for(error)}, {"error", error.message()}, {"exit", code_}});
    save_report(exit_reason_for(error), error.message());
    tmux_.reset();
    (void)setup_.session.remove();
    Json message = {{"kind", "failed"}, {"message", error.message()}, {"exit", code_}};
    if (fronts_)
      fronts_->tell_all(message);
    else
      setup_.front_end.send(message);
    return code_;
  }

  int finish() {
    confined_->lifeline.reset();
    if (!child_) {
      Result<ExitStatus> late = confined_->process.wait(kEndLimit);
      if (late) child_ = *late;
    }
    terminal_->handle_ready();
    tmux_->handle_ready();
    mirror_->finish(reason_);
    held_->finish(reason_);
    if (setup_.config.options.unattended && prompts_->any_denied() && code_ < 128) {
      if (prompts_->stuck().empty()) reason_ = "policy denied or nobody answered";
      code_ = kExitPolicyDenied;
    }
    look_after();
    Status closed = log_->end({{"reason", reason_}, {"exit", code_}});
    if (!closed && code_ == 0) code_ = kExitLauncher;
    events_.emit("session_ended", {{"session", setup_.session.id()}, {"reason", reason_}, {"exit", code_}});
    save_report(reason_, closed ? "" : closed.error().message());
    tmux_.reset();
    (void)setup_.session.remove();
    fronts_->tell_all({{"kind", "ended"}, {"exit", code_}, {"reason", reason_}, {"told", lines_to_tell()}});
    return code_;
  }

  // Nothing inside lives any more.
  void look_after() {
    if (Status whole = setup_.aftermath.look(); !whole) {
      reason_ = whole.error().message();
      code_ = kExitLauncher;
    }
    seen_ = setup_.aftermath.seen();
    Json row = {{"complete", seen_->complete}, {"count", seen_->effects.size()}};
    row["effects"] = host_effects_body(*seen_, kMostRecorded);
    (void)log_->append("host_effects", row);  // a log that broke says so at its end
    if (!has_findings(*seen_, setup_.config.options.fail_on)) return;
    reason_ = "findings";
    code_ = kExitFindings;
  }

  // As much as a message holds.
  [[nodiscard]] Json lines_to_tell() const {
    constexpr std::size_t kMostBytes = std::size_t{24} << 10;
    Json lines = Json::array();
    std::size_t bytes = 0;
    for (const std::string& line : setup_.aftermath.lines()) {
      std::string text = redactor_.text(line);
      bytes += text.size();
      if (bytes > kMostBytes) break;
      lines.push_back(std::move(text));
    }
    return lines;
  }

  void save_report(const std::string& reason, const std::string& error) {
    if (setup_.report) note_written(write_report(setup_.report, whole_report(reason, error), redactor_));
    if (!setup_.sarif) return;
    const AfterRunReport* seen = seen_ ? &*seen_ : nullptr;
    const std::string text =
        sarif_text({.workspace = setup_.config.workspace, .seen = seen, .exit_code = code_, .error = error});
    note_written(write_report(setup_.sarif, Json::parse(text, nullptr, false), redactor_));
  }

  void note_written(const Status& written) {
    if (written || !fronts_) return;
    fronts_->tell_all({{"kind", "event"}, {"event", "report_failed"}, {"error", written.error().message()}});
    if (code_ == 0) code_ = kExitLauncher;
  }

  [[nodiscard]] Json whole_report(const std::string& reason, const std::string& error) const {
    Json report = session_start_body(setup_.config, setup_.artifact, setup_.facts, setup_.config.rules.sha256());
    report["session"] = setup_.session.id();
    report["exit"] = {{"code", code_}, {"reason", reason}};
    if (!error.empty()) report["error"] = error;
    if (child_) report["child"] = {{"code", child_->code}, {"ended", sandbox::ending_name(ending_)}};
    if (prompts_) report["prompts"] = prompts_->report();
    if (held_ && setup_.facts.can_guard()) report["held_names"] = held_->counts();
    if (prompts_) report["prompts_seen"] = prompts_->count();
    if (prompts_ && !prompts_->stop_reason().empty()) report["mirror_stopped"] = prompts_->stop_reason();
    if (confined_) report["self_test"] = self_test_body(confined_->self_test);
    if (seen_) report["host_effects"] = host_effects_body(*seen_, seen_->effects.size());
    if (seen_) report["host_effects_complete"] = seen_->complete;
    report["events_lost"] = events_.lost();
    return report;
  }

  SupervisorSetup setup_;
  SystemClock clock_;
  redact::Redactor redactor_;
  Fd signals_;
  Fd recorder_;
  Events events_;
  std::optional<FrontEnds> fronts_;
  std::optional<audit::Log> log_;
  std::optional<audit::DecisionLog> decisions_;
  std::optional<approvals::Broker> broker_;
  std::optional<Terminal> terminal_;
  std::optional<RelayLink> relay_;
  std::string tmux_program_;
  std::optional<elicitation::TmuxServer> tmux_;
  std::optional<Prompts> prompts_;
  std::optional<elicitation::Mirror> mirror_;
  std::optional<sandbox::Confined> confined_;
  std::optional<AfterRunReport> seen_;
  std::optional<HeldPrompts> held_;
  std::size_t shown_waiting_ = 0;
  std::optional<ExitStatus> child_;
  sandbox::Ending ending_ = sandbox::Ending::unknown;
  bool ended_ = false;
  std::string reason_;
  int code_ = 0;
};

}  // namespace

int supervise(SupervisorSetup setup) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_DUMPABLE, 0);  // its memory holds the agent's credentials
  Supervisor supervisor(std::move(setup));
  return supervisor.run();
}

Result<std::string> audit_path(const std::vector<std::string>& environment) {
  std::string state = environment_value(environment, "XDG_STATE_HOME");
  if (state.empty() || state[0] != '/') {
    std::string home = environment_value(environment, "HOME");
    if (home.empty() || home[0] != '/') {
      return fail("home", "$HOME", "neither XDG_STATE_HOME nor HOME names a directory for the record",
                  "set HOME; nothing was started");
    }
    state = home + "/.local/state";
  }
  return state + "/oncelatch/audit.db";
}

}  // namespace oncelatch::launcher
