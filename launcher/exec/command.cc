#include "launcher/exec/command.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/beneath.h"
#include "launcher/aftermath.h"
#include "launcher/change_effects.h"
#include "launcher/change_set.h"
#include "launcher/errors.h"
#include "launcher/exec/explain.h"
#include "launcher/exec/plan.h"
#include "launcher/exec/refused_names.h"
#include "launcher/exec/report.h"
#include "launcher/exec/requirements.h"
#include "launcher/exec/streams.h"
#include "launcher/exit_codes.h"
#include "launcher/messages.h"
#include "launcher/report_file.h"
#include "launcher/sarif.h"
#include "launcher/session_directory.h"
#include "sandbox/enter.h"
#include "sandbox/guarantees.h"
#include "verify/verify_file.h"

namespace oncelatch::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using sandbox::IdentityChoice;
using std::chrono::milliseconds;

constexpr milliseconds kGrace{2500};  // from asking the command to end to ending it
constexpr milliseconds kDrain{500};   // for output that a terminal doesn't take
constexpr milliseconds kGlance{200};  // between looks at what tells nobody: the foreground, a terminal that is full
constexpr int kMostAttempts = 4;      // to start, while others replace what the plan names
constexpr int kShellFileTooLarge = 128 + SIGXFSZ;

bool is_ignored(int number) {
  struct sigaction before {};
  return ::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
}

// Before anything is started: one that came while the command already runs would end us alone, and signals that are
// blocked and never read would leave nobody who can end the command. What the caller had us ignore (nohup) stays so.
sigset_t watched_signals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGWINCH, SIGCONT})
    if (!is_ignored(number)) sigaddset(&watched, number);
  return watched;
}

Result<Fd> open_signals() {
  const sigset_t watched = watched_signals();
  Fd signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return fail_errno("oncelatch", "signals", errno, {}, "signalfd");
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // In the background nothing of the terminal may stop who keeps the deadline.
  ::signal(SIGTTOU, SIG_IGN);
  ::signal(SIGTTIN, SIG_IGN);
  return signals;
}

// The command while it runs: its streams, the caller's signals, the deadline.
class Session {
 public:
  Session(sandbox::Confined confined, ExecStreams streams, Fd signals, std::uint64_t seconds)
      : confined_(std::move(confined)), streams_(std::move(streams)), signals_(std::move(signals)) {
    if (seconds != 0) deadline_ = Clock::now() + std::chrono::seconds(seconds);
  }

  // Until the command has ended and its output was handed on: to a terminal for a moment, else for as long as the
  // receiver takes, a signal or the deadline.
  Result<ExitStatus> wait() {
    streams_->started();
    std::optional<ExitStatus> status;
    for (Clock::time_point ended;;) {
      std::vector<pollfd> entries = {{signals_.get(), POLLIN, 0}};
      if (!status) entries.push_back({confined_.process.pidfd(), POLLIN, 0});
      if (!status && confined_.told == sandbox::Ending::unknown) entries.push_back({confined_.limit.get(), POLLIN, 0});
      if (confined_.held) entries.push_back({confined_.held.get(), POLLIN, 0});
      streams_->add_entries(entries);
      ::poll(entries.data(), entries.size(), timeout(status.has_value()));
      const bool asked_to_end = pass_signals();
      streams_->move();
      refused_names_.take(confined_.held);
      check_deadline();
      if (!status) follow_stops();
      if (!status) {
        status = TRY(confined_.process.poll());
        ended = Clock::now();
        if (!status) continue;
        streams_->move();
      }
      const auto left = streams_->output_left();
      using Left = ExecStreams::Left;
      if (left == Left::none || asked_to_end || timed_out_) break;
      if (left == Left::for_terminal && Clock::now() - ended > kDrain) break;
    }
    constexpr int kLastLooks = 64;  // nobody writes there any more
    for (int i = 0; i < kLastLooks && confined_.held; ++i) refused_names_.take(confined_.held);
    // What is still to be said finds the terminal as it was, and may wait for one that nobody reads; we can be ended
    // there.
    output_error_ = streams_->output_error();
    streams_.reset();
    const sigset_t watched = watched_signals();
    ::sigprocmask(SIG_UNBLOCK, &watched, nullptr);
    return *status;
  }

  [[nodiscard]] const RefusedNames& refused_names() const { return refused_names_; }
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  [[nodiscard]] int output_error() const { return output_error_; }
  [[nodiscard]] sandbox::Confined& confined() { return confined_; }

 private:
  // Only a person stops us with the command, by a key or a signal: what stops itself keeps neither us nor our deadline.
  void follow_stops() {
    stopped_ = sandbox::was_stopped(confined_) || stopped_;
    const bool by_key = stopped_ && streams_->had_stop_key();
    if (!stopped_ || (!by_key && !asked_to_stop_)) return;
    stopped_ = asked_to_stop_ = false;
    streams_->move();
    streams_->suspend(by_key);
    (void)confined_.process.signal(SIGCONT);
  }

  // True: one that asks to end.
  bool pass_signals() {
    bool ends = false;
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      int number = static_cast<int>(info.ssi_signo);
      if (number == SIGWINCH || number == SIGCONT) streams_->follow_terminal();
      if (number != SIGWINCH) (void)confined_.process.signal(number);
      if (number == SIGTSTP) asked_to_stop_ = true;
      if (number == SIGCONT) stopped_ = asked_to_stop_ = false;
      ends = ends || number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
    }
    return ends;
  }

  [[nodiscard]] int timeout(bool ended) const {
    const bool glances = ended || streams_->waits_for_keyboard();
    milliseconds::rep left = glances ? kGlance.count() : 1'000'000'000;
    if (deadline_) left = std::min(left, std::chrono::ceil<milliseconds>(*deadline_ - Clock::now()).count());
    if (!deadline_ && !glances) return -1;
    return static_cast<int>(std::max<milliseconds::rep>(left, 0));
  }

  void check_deadline() {
    if (!deadline_ || Clock::now() < *deadline_) return;
    if (timed_out_) {
      confined_.lifeline.reset();
      (void)confined_.process.signal(SIGCONT);
      deadline_.reset();
      return;
    }
    timed_out_ = true;
    (void)confined_.process.signal(SIGTERM);
    deadline_ = Clock::now() + kGrace;
  }

  sandbox::Confined confined_;
  std::optional<ExecStreams> streams_;
  Fd signals_;
  std::optional<Clock::time_point> deadline_;
  RefusedNames refused_names_;
  bool timed_out_ = false;
  bool asked_to_stop_ = false;
  bool stopped_ = false;  // the command is, as far as is known
  int output_error_ = 0;
};

class ExecCommand {
 public:
  ExecCommand(const ExecOptions& options, const std::vector<std::string>& environment)
      : options_(options), environment_(environment) {
    report_.options = &options_;
  }

  int run() {
    Status done = start_and_wait();
    entering_.reset();
    if (!done) {
      streams_.reset();  // what is said finds the terminal as it was
      report_.code = exit_code_for(done.error());
      report_.reason = exit_reason_for(done.error());
      report_.error = done.error().message();
      report_error(done.error());
    }
    return save_report();
  }

 private:
  Status start_and_wait() {
    report_file_ = TRY(ReportFile::open_if_named(options_.report, "--report"));
    sarif_file_ = TRY(ReportFile::open_if_named(options_.sarif, "--sarif"));
    if (Status apart = report_file_.check_apart(sarif_file_); !apart) {
      sarif_file_ = ReportFile();
      return apart;
    }
    // The quick look costs nothing; that namespaces can be had is then proved by entering.
    facts_ = sandbox::probe_host(options_.accepted_losses.empty() ? sandbox::Probing::quick : sandbox::Probing::full);
    report_.facts = &facts_;
    bool on_host = facts_.tier() == sandbox::Tier::landlock;
    TRY(plan(on_host ? IdentityChoice::on_host : IdentityChoice::hoped));
    if (on_host) TRY(move_to_host());
    TRY(keep_apart());
    TRY(look_before());
    signals_ = TRY(open_signals());
    Result<sandbox::Confined> entered = enter();
    if (!entered) return explain_refusal(entered.error());
    sandbox::Confined confined = std::move(*entered);
    for (const std::string& note : plan_->notes) tell("note: " + note);
    self_test_ = confined.self_test;
    report_.self_test = &self_test_;
    Session session(std::move(confined), std::move(*streams_), std::move(signals_), plan_->seconds);
    ExitStatus status = TRY(session.wait());
    judge(status, session);
    refused_names_ = session.refused_names();
    report_.refused_names = &refused_names_;
    refused_names_.tell_all(plan_->sandbox.workspace);
    TRY(look_after());
    tell_changes();
    return {};
  }

  // Under an overlay: where its changes go.
  Status keep_apart() {
    if (!plan_->sandbox.overlay) return {};
    ChangeSets sets = TRY(ChangeSets::open(environment_));
    TRY(check_outside(sets.path()));
    changes_.emplace(TRY(sets.create(plan_->sandbox.workspace)));
    return {};
  }

  // Of what may be written: a walk of its own, so only where somebody wants to know.
  Status look_before() {
    TRY(prepare_quarantine());
    if (options_.own_branch) aftermath_.own_reference.emplace(TRY(OwnReference::remember(plan_->sandbox.own_branch)));
    if (!changes_) aftermath_.git_directories = {plan_->sandbox.workspace + "/.git", plan_->repository.directory};
    if (options_.fail_on.empty() && options_.report.empty() && options_.sarif.empty() && !aftermath_.quarantine)
      return {};
    std::vector<WatchedRoot> roots;
    if (!changes_) roots.push_back({plan_->sandbox.workspace});
    for (const sandbox::Bind& bind : plan_->sandbox.binds) {
      const auto holds_it = [&](const WatchedRoot& root) { return is_or_contains(root.path, bind.source); };
      if (bind.access != sandbox::Access::read_write || bind.target != bind.source) continue;
      if (std::none_of(roots.begin(), roots.end(), holds_it)) roots.push_back({bind.source, bind.git_directory});
    }
    return aftermath_.watch(roots);
  }

  // Where the guard's loss was accepted.
  Status prepare_quarantine() {
    const std::vector<std::string>& lost = plan_->losses;
    if (std::find(lost.begin(), lost.end(), "creation_guard") == lost.end()) return {};
    aftermath_.quarantine.emplace(TRY(Quarantine::open(environment_)));
    return check_outside(aftermath_.quarantine->path());
  }

  Status check_outside(const std::string& state) const {
    if (is_or_contains(plan_->sandbox.workspace, real_path(state)))
      return fail("state", state, "lies in the workspace", "set XDG_STATE_HOME to a directory outside of it");
    return {};
  }

  Status look_after() {
    const Status whole = aftermath_.look();
    if (changes_ && aftermath_.watches()) add_effects(effects_of(*changes_));
    if (aftermath_.watches()) report_.after_run = &aftermath_.seen();
    for (const std::string& line : aftermath_.lines()) tell(line);
    if (!has_findings(aftermath_.seen(), options_.fail_on)) return whole;
    report_.code = kExitFindings;
    report_.reason = "findings";
    return whole;
  }

  void add_effects(AfterRunReport more) {
    AfterRunReport& seen = aftermath_.seen();
    seen.complete = seen.complete && more.complete;
    for (HostEffect& effect : more.effects) seen.effects.push_back(std::move(effect));
  }

  void tell_changes() {
    if (!changes_ || changes_->is_empty()) return;
    tell("changes: kept apart as " + changes_->id() + "; oncelatch changes diff shows them, apply promotes them");
    report_.changes = changes_->id();
  }

  Status plan(IdentityChoice choice) {
    entering_.reset();
    plan_.emplace(TRY(make_exec_plan(options_, environment_, choice, [this](const ExecPlan& known) {
      return facts_.tier() == sandbox::Tier::full ? begin_entering(known) : Status();
    })));
    report_.plan = &*plan_;
    return check_guarantees();
  }

  // The namespaces are made while the rest of the plan is: that takes as long.
  Status begin_entering(const ExecPlan& known) {
    TRY(open_streams(known));
    entering_.emplace(TRY(sandbox::begin_entering(known.sandbox, facts_, streams_->inside())));
    return {};
  }

  Status open_streams(const ExecPlan& known) {
    if (streams_) return {};
    streams_.emplace(TRY(ExecStreams::open(known.profile.runner_commands)));
    return {};
  }

  Result<sandbox::Confined> enter() {
    IdentityChoice choice = IdentityChoice::hoped;
    for (int attempt = 1;; ++attempt) {
      Result<sandbox::Confined> entered = enter_once();
      if (entered || attempt == kMostAttempts) return entered;
      const bool identity = identity_failed(entered.error());
      if (!identity && (!was_replaced(entered.error()) || facts_.tier() != sandbox::Tier::full)) return entered;
      if (identity) choice = IdentityChoice::proven;
      TRY(plan(choice));
    }
  }

  Result<sandbox::Confined> enter_once() {
    TRY(open_streams(*plan_));
    if (changes_) {
      TRY(changes_->give_layers(plan_->sandbox.uid, plan_->sandbox.gid));
      plan_->sandbox.layers = changes_->layers();
    }
    VerifiedArtifact program = TRY(verify::open_program(plan_->program));
    if (!entering_) return sandbox::enter(plan_->sandbox, program, facts_, streams_->inside());
    sandbox::Entering entering = std::move(*entering_);
    entering_.reset();
    return sandbox::enter(std::move(entering), plan_->sandbox, program, facts_);
  }

  // The identity that was hoped for can't be had: nothing was started.
  [[nodiscard]] bool identity_failed(const Error& error) const {
    bool stage = error.object.rfind("sources: ", 0) == 0 || error.object.rfind("identity: ", 0) == 0;
    return plan_->sandbox.idmapped && stage;
  }

  // Whoever works in the repository outside may replace a file at any moment, such as its settings.
  static bool was_replaced(const Error& error) {
    const bool gone = error.errno_value == ENOENT && error.object.rfind("covers: ", 0) == 0;
    return error.errno_value == ESTALE || gone;
  }

  Status check_guarantees() {
    std::vector<sandbox::Guarantee> given = sandbox::guarantees(facts_, plan_->sandbox);
    const std::vector<sandbox::Requirement> required = requirements_of(options_);
    TRY(sandbox::check_required(given, required, options_.accepted_losses, facts_));
    if (!options_.accepted_losses.empty()) plan_->sandbox.least_tier = sandbox::Tier::landlock;
    for (const sandbox::Loss& loss : sandbox::losses(given, required, options_.accepted_losses)) {
      plan_->losses.push_back(loss.name);
      plan_->notes.push_back("accepted loss " + loss.name + ": " + loss.gives_up);
    }
    return {};
  }

  // The machine gave less than the quick look had promised: the whole truth, with what could be accepted.
  Status explain_refusal(const Error& error) {
    if (error.errno_value != ENOTSUP) return Failure(error);
    facts_ = sandbox::probe_host(sandbox::Probing::full);
    TRY(check_guarantees());
    return Failure(error);
  }

  // Without mounts of its own the command gets a home and a /tmp on the host, removed at the end.
  Status move_to_host() {
    SessionRoot root = TRY(SessionRoot::open(environment_));
    (void)root.sweep();
    session_.emplace(TRY(root.create(kCommandPrefix)));
    for (const char* name : {"home", "tmp"}) {
      Fd made = TRY(make_directory(session_->fd(), name, 0700));
      if (::geteuid() == 0 && ::fchown(made.get(), plan_->sandbox.uid, plan_->sandbox.gid) != 0)
        return fail_errno("home", name, errno, {}, "chown");
    }
    plan_->sandbox.home = session_->path() + "/home";
    plan_->sandbox.binds.push_back(
        {.source = session_->path() + "/tmp", .target = "/tmp", .access = sandbox::Access::read_write});
    return {};
  }

  void judge(const ExitStatus& status, Session& session) {
    report_.code = status.shell_code();
    const sandbox::Ending ending = sandbox::ending_of(session.confined(), status);
    report_.reason = sandbox::ending_name(ending);
    report_.refused_processes = ending == sandbox::Ending::refused_processes;
    if (report_.refused_processes) tell("note: the command failed, and the limit of processes had been reached");
    const bool timed_out = session.timed_out() || ending == sandbox::Ending::time;
    if (sandbox::is_limit(ending))
      tell(std::string("limit: ") + sandbox::ending_name(ending) + ": the command went over it");
    if (ending == sandbox::Ending::exited && report_.code == kShellFileTooLarge)
      tell("note: exit code 153: perhaps a program of a shell went over --limit file-size");
    if (session.output_error() != 0) {
      tell(std::string("output was lost: ") + std::strerror(session.output_error()));
      if (report_.code == 0) report_.code = kExitLauncher;
    }
    if (!timed_out) return;
    report_.code = kExitTimeLimit;
    report_.reason = "time limit";
    tell("time limit: " + std::to_string(plan_->seconds) + " s are over; the command was ended");
  }

  int save_report() {
    if (changes_ && changes_->is_empty())
      if (Status removed = changes_->remove(); !removed) report_error(removed.error());
    if (session_)
      if (Status removed = session_->remove(); !removed) report_error(removed.error());
    int fault = 0;
    auto save = [&](const ReportFile& file, const std::string& text) {
      const Status written = file ? file.write(text) : Status();
      if (!written) fault = report_error(written.error());
    };
    save(report_file_, exec_report_text(report_));
    save(sarif_file_, sarif());
    return report_.code == 0 ? fault : report_.code;
  }

  [[nodiscard]] std::string sarif() const {
    return sarif_text({.workspace = plan_ ? plan_->sandbox.workspace : std::string(),
                       .seen = report_.after_run,
                       .exit_code = report_.code,
                       .error = report_.error});
  }

  const ExecOptions& options_;
  const std::vector<std::string>& environment_;
  std::optional<ExecPlan> plan_;
  std::optional<SessionDirectory> session_;  // of the Landlock tier
  std::optional<ChangeSet> changes_;         // of an overlay
  sandbox::HostFacts facts_;
  std::optional<ExecStreams> streams_;
  Fd signals_;
  std::optional<sandbox::Entering> entering_;
  std::vector<sandbox::SelfTestResult> self_test_;
  Aftermath aftermath_;
  RefusedNames refused_names_;
  ReportFile report_file_;
  ReportFile sarif_file_;
  ExecReport report_;
};

}  // namespace

int exec_command(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  // Its memory holds the caller's environment.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0)
    return report_error(fail_errno("oncelatch", "prctl(PR_SET_DUMPABLE)", errno).value());
  Result<ExecOptions> options = parse_exec_options(arguments);
  if (!options) return refuse_with_report(arguments, options.error());
  if (options->help) return print_page(exec_help()) ? 0 : kExitLauncher;
  if (options->explain) return explain_exec(*options, environment);
  return ExecCommand(*options, environment).run();
}

}  // namespace oncelatch::launcher
