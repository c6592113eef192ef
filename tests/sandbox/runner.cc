// A launcher reduced to the sandbox, for tests: options, then the program.
//
//   sandbox_runner --workspace DIR [--become UID] [--uid UID] [--bind SOURCE:TARGET:ro|rw] [--hide|--deny PATH]
//   [--protect|--keep|--keep-link PATH] [--as-root-mapped] ...
//                  PROGRAM ARGUMENT...
//
// Exit code: the program's (128+n for a signal); 99 and "refused ERRNO-NAME message" on stderr where the sandbox
// refused.
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/enter.h"
#include "sandbox/guarantees.h"
#include "sandbox/held_wire.h"
#include "sandbox/identity.h"
#include "verify/verify_file.h"

namespace oncelatch::sandbox {

namespace {

constexpr int kRefused = 99;

struct Options {
  SandboxPlan plan;
  bool terminal = false;
  bool show_self_test = false;
  bool quick = false;
  bool leak = false;
  bool announce = false;
  bool choose_identity = false;
  bool workspace_only = false;  // the choice sees no other mount
  bool show_losses = false;
  std::vector<std::string> accepted_losses;
  int landlock_abi = -1;          // lowered to this
  int close_lifeline_after = -1;  // milliseconds
  std::string answers;            // a FIFO with "allow TICKET" and "refuse TICKET"; what is asked goes to stderr
  std::string program;
  int first_argument = 0;
};

void become(uid_t uid) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0) std::exit(98);
  ::prctl(PR_SET_DUMPABLE, 1);
}

Bind parse_bind(const std::string& text) {
  std::size_t first = text.find(':');
  std::size_t second = text.find(':', first + 1);
  std::string how = text.substr(second + 1);
  Bind bind;
  bind.source = text.substr(0, first);
  bind.target = text.substr(first + 1, second - first - 1);
  bind.access = how.starts_with("rw") ? Access::read_write : Access::read_only;
  bind.executable = how.find("noexec") == std::string::npos;
  bind.optional = how.find("optional") != std::string::npos;
  return bind;
}

Alias parse_alias(const std::string& text) {
  std::size_t colon = text.find(':');
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool take_flag(Options& options, const std::string& name) {
  if (name == "--terminal") return options.terminal = true;
  if (name == "--self-test") return options.show_self_test = true;
  if (name == "--quick") return options.quick = true;
  if (name == "--leak") return options.leak = true;
  if (name == "--announce") return options.announce = true;
  if (name == "--by-workspace-only") return options.workspace_only = true;
  if (name == "--as-root-mapped") return options.choose_identity = true;
  if (name == "--losses") return options.show_losses = true;
  if (name == "--host-network") options.plan.network = Network::ports;
  if (name == "--loopback") options.plan.network = Network::loopback;
  if (name == "--host-network" || name == "--loopback") return true;
  if (name == "--no-groups") options.plan.limits.control_groups = false;
  if (name == "--no-groups") return true;
  if (name == "--ptrace") return options.plan.allow_ptrace = true;
  if (name == "--hold-builds") return options.plan.hold_builds = true;
  if (name == "--no-guard") options.plan.guard = false;
  if (name == "--no-guard") return true;
  return false;
}

HeldNames parse_held(const std::string& word) {
  return word == "ask" ? HeldNames::ask : word == "refuse" ? HeldNames::refuse : HeldNames::report;
}

void take_value(Options& options, const std::string& name, const char* value) {
  SandboxPlan& plan = options.plan;
  auto number = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
  if (name == "--become") become(number);
  if (name == "--become" || name == "--uid") plan.uid = plan.gid = number;
  if (name == "--workspace") plan.workspace = value;
  if (name == "--bind") plan.binds.push_back(parse_bind(value));
  if (name == "--hide") plan.covers.push_back({value, Cover::Kind::hide});
  if (name == "--protect") plan.covers.push_back({value, Cover::Kind::protect});
  if (name == "--deny") plan.covers.push_back({value, Cover::Kind::hide, true});
  if (name == "--keep-link") plan.covers.push_back({value, Cover::Kind::link, true});
  if (name == "--keep") plan.covers.push_back({value, Cover::Kind::protect, true});
  if (name == "--alias") plan.aliases.push_back(parse_alias(value));
  if (name == "--overlay") plan.layers = value;
  if (name == "--overlay") plan.overlay = true;
  if (name == "--home") plan.home = value;
  if (name == "--home-inside") plan.home_inside = value;
  if (name == "--env") plan.environment.emplace_back(value);
  if (name == "--port") plan.connect_ports.push_back(static_cast<std::uint16_t>(number));
  if (name == "--processes") plan.limits.processes = number;
  if (name == "--file-size") plan.limits.file_size = number;
  if (name == "--memory") plan.limits.memory = std::strtoull(value, nullptr, 10);
  if (name == "--temporary") plan.limits.temporary_bytes = number;
  if (name == "--cwd") plan.working_directory = value;
  if (name == "--inside") plan.program_inside = value;
  if (name == "--accept-loss") options.accepted_losses.emplace_back(value);
  if (name == "--landlock-abi") options.landlock_abi = std::atoi(value);
  if (name == "--held") plan.held = parse_held(value);
  if (name == "--answers") options.answers = value;
  if (name == "--program") options.program = value;
  if (name == "--close-lifeline") options.close_lifeline_after = std::atoi(value);
}

Options parse(int argc, char** argv) {
  Options options;
  options.plan.uid = ::getuid();
  options.plan.gid = ::getgid();
  int i = 1;
  while (i < argc && std::strncmp(argv[i], "--", 2) == 0) {
    std::string name = argv[i++];
    if (!take_flag(options, name) && i < argc) take_value(options, name, argv[i++]);
  }
  options.first_argument = i;
  for (; i < argc; ++i) options.plan.argv.emplace_back(argv[i]);
  return options;
}

int refuse(const Error& error) {
  const char* name = error.errno_value != 0 ? ::strerrorname_np(error.errno_value) : "0";
  std::fprintf(stderr, "refused %s %s\n", name, error.message().c_str());
  return kRefused;
}

// Descriptors as a careless parent leaves them, without close-on-exec.
void leak_descriptors() {
  int low = ::fcntl(10, F_GETFD) < 0 ? 10 : 199;  // 10 may be one of ours
  ::dup2(::open("/", O_RDONLY | O_DIRECTORY), low);
  ::dup2(::open("/etc/passwd", O_RDONLY), 200);
}

// As the launcher does; the loss goes to stderr.
void take_identity(SandboxPlan& plan, bool workspace_only) {
  std::vector<std::string> writable;
  if (!plan.home.empty()) writable.push_back(plan.home);
  for (const Bind& bind : plan.binds)
    if (bind.access == Access::read_write) writable.push_back(bind.source);
  if (workspace_only) writable.clear();
  Identity identity = choose_identity(plan.workspace, writable);
  plan.uid = identity.uid;
  plan.gid = identity.gid;
  plan.shown_uid = identity.shown_uid;
  plan.shown_gid = identity.shown_gid;
  plan.idmapped = identity.idmapped;
  // Who works in the layers has just been chosen.
  for (const char* name : {"", "/upper", "/work"})
    if (plan.overlay) (void)!::chown((plan.layers + name).c_str(), plan.uid, plan.gid);
  if (!identity.loss.empty()) std::fprintf(stderr, "loss %s\n", identity.loss.c_str());
}

// Says what it is asked and passes the answers on, until the program has ended.
class HeldAnswers {
 public:
  HeldAnswers(int channel, const std::string& fifo)
      : channel_(channel), fifo_(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)) {}

  void serve(const Process& process) {
    for (;;) {
      pollfd entries[] = {{process.pidfd(), POLLIN, 0}, {channel_, POLLIN, 0}, {fifo_.get(), POLLIN, 0}};
      ::poll(entries, 3, -1);
      while (tell_one()) {
      }
      if (entries[2].revents != 0) pass_on();
      if (entries[0].revents != 0) return;
      if ((entries[1].revents & POLLHUP) != 0) channel_ = -1;
    }
  }

 private:
  bool tell_one() {
    char bytes[kMostHeldBytes + 1];
    const ssize_t got = ::read(channel_, bytes, sizeof bytes);
    if (got <= 0) return false;
    HeldMessage message;
    const bool good = read_held_message(bytes, static_cast<std::size_t>(got), message);
    constexpr const char* kKinds[] = {"ask", "done", "withdrawn", "refused"};
    if (!good) std::fprintf(stderr, "malformed\n");
    if (good)
      std::fprintf(stderr, "%s %u %s %s %d\n", kKinds[static_cast<unsigned>(message.kind)], message.ticket,
                   kHeldUseNames[static_cast<unsigned>(message.use)], message.path, message.error);
    std::fflush(stderr);
    return true;
  }

  void pass_on() {
    char bytes[4096];
    const ssize_t got = ::read(fifo_.get(), bytes, sizeof bytes);
    if (got > 0) words_.append(bytes, static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = words_.find('\n')) != std::string::npos; words_.erase(0, end + 1)) {
      const bool allow = words_.starts_with("allow");
      HeldAnswer answer;
      answer.ticket = static_cast<std::uint32_t>(std::strtoul(words_.c_str() + words_.find(' '), nullptr, 10));
      answer.verdict = allow ? HeldVerdict::allowed : HeldVerdict::refused;
      (void)!::write(channel_, &answer, sizeof answer);
    }
  }

  int channel_;
  Fd fifo_;
  std::string words_;
};

int supervise(Confined confined, const Options& options) {
  for (const SelfTestResult& result : confined.self_test)
    if (options.show_self_test)
      std::fprintf(stderr, "self-test %s %d %s\n", result.name.c_str(), result.refused ? 1 : 0,
                   ::strerrorname_np(result.errno_value));
  if (options.announce) {
    std::fprintf(stderr, "outer %d\n", confined.process.pid());
    std::fflush(stderr);
  }
  if (options.close_lifeline_after >= 0) {
    ::usleep(static_cast<useconds_t>(options.close_lifeline_after) * 1000);
    confined.lifeline.reset();
  }
  if (confined.held) HeldAnswers(confined.held.get(), options.answers).serve(confined.process);
  Result<ExitStatus> status = confined.process.wait(std::chrono::seconds(100));
  if (!status) return refuse(status.error());
  if (Ending ending = ending_of(confined, *status); is_limit(ending))
    std::fprintf(stderr, "limit %s\n", ending_name(ending));
  return status->shell_code();
}

Status check_guarantees(Options& options, const HostFacts& facts) {
  std::vector<Guarantee> given = guarantees(facts, options.plan);
  TRY(check_required(given, default_requirements(), options.accepted_losses, facts));
  if (!options.accepted_losses.empty()) options.plan.least_tier = Tier::landlock;
  for (const Loss& loss : losses(given, default_requirements(), options.accepted_losses))
    if (options.show_losses) std::fprintf(stderr, "loss %s: %s\n", loss.name.c_str(), loss.gives_up.c_str());
  return {};
}

int run(int argc, char** argv) {
  Options options = parse(argc, argv);
  SandboxPlan& plan = options.plan;
  if (plan.argv.empty()) return 2;
  if (options.choose_identity) take_identity(plan, options.workspace_only);
  if (plan.program_inside.empty()) plan.program_inside = plan.argv[0];
  Result<VerifiedArtifact> artifact =
      verify::verify_file(options.program.empty() ? plan.argv[0] : options.program, std::nullopt);
  if (!artifact) return refuse(artifact.error());
  HostFacts facts = probe_host(options.quick ? Probing::quick : Probing::full);
  if (options.landlock_abi >= 0) facts.lower_landlock(options.landlock_abi);
  if (Status held = check_guarantees(options, facts); !held) return refuse(held.error());
  if (options.leak) leak_descriptors();
  Streams streams{.terminal = options.terminal ? 0 : -1, .input = 0, .output = 1, .error = 2};
  Result<Confined> confined = enter(plan, *artifact, facts, streams);
  if (!confined) return refuse(confined.error());
  return supervise(std::move(*confined), options);
}

}  // namespace
}  // namespace oncelatch::sandbox

int main(int argc, char** argv) {
  return oncelatch::sandbox::run(argc, argv);
}
