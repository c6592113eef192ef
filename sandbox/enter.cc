#include "sandbox/enter.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>

#include "sandbox/landlock_abi.h"
#include "sandbox/plan_wire.h"
#include "sandbox/prepare.h"
#include "sandbox/stage.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::chrono::seconds kLongestStart{20};

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe(const std::string& name) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("sandbox", name, errno);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

struct Told {
  std::vector<SelfTestResult> self_test;
  std::optional<StatusRecord> failure;
  bool ready = false;
};

void take_record(const StatusRecord& record, Told& told) {
  std::string text(record.text, ::strnlen(record.text, sizeof record.text));
  if (record.kind == StatusRecord::probe) told.self_test.push_back({text, record.refused != 0, record.error});
  if (record.kind == StatusRecord::ready) told.ready = true;
  if (record.kind == StatusRecord::failed && !told.failure) told.failure = record;
}

// Waits for bytes until the deadline; 0 at the end of the pipe.
Result<std::size_t> read_some(int fd, char* into, std::size_t most, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd entry{fd, POLLIN, 0};
    int ready = ::poll(&entry, 1, static_cast<int>(std::max<long>(0, left)));
    if (ready == 0) return fail_errno("sandbox", "start", ETIMEDOUT, "the machine may be overloaded");
    if (ready < 0 && errno == EINTR) continue;
    ssize_t got = ready < 0 ? -1 : ::read(fd, into, most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("sandbox", "status pipe", errno);
    return static_cast<std::size_t>(got);
  }
}

// Until every writer has exec'ed or died.
Result<Told> listen(int fd) {
  Told told;
  auto deadline = std::chrono::steady_clock::now() + kLongestStart;
  std::array<char, 32 * sizeof(StatusRecord)> buffer;
  std::size_t held = 0;
  for (;;) {
    std::size_t got = TRY(read_some(fd, buffer.data() + held, buffer.size() - held, deadline));
    if (got == 0) return told;
    held += got;
    std::size_t used = 0;
    for (; held - used >= sizeof(StatusRecord); used += sizeof(StatusRecord)) {
      StatusRecord record;
      std::memcpy(&record, buffer.data() + used, sizeof record);
      take_record(record, told);
    }
    std::memmove(buffer.data(), buffer.data() + used, held - used);
    held -= used;
  }
}

const char* advice(Stage stage) {
  switch (stage) {
    case Stage::overlay:
      return "put the changes on a file system that can take them (XDG_STATE_HOME): one with extended attributes, no "
             "overlay "
             "itself; or run without --workspace-mode overlay";
    case Stage::skeleton:
    case Stage::covers:
      return "check that the path exists, is no link and wasn't replaced meanwhile";
    case Stage::namespaces:
    case Stage::identity_maps:
    case Stage::root:
    case Stage::proc:
    case Stage::host_name:
    case Stage::pivot:
      return "oncelatch doctor shows what this machine allows";
    case Stage::self_test:
      return "the sandbox doesn't hold on this machine; nothing was started. Please report it";
    case Stage::exec:
      return "check that the program is for this architecture and its interpreter lies in the sandbox's view";
    default:
      return "oncelatch doctor shows what this machine can enforce";
  }
}

bool means_missing_feature(const StatusRecord& record) {
  switch (record.stage) {
    case Stage::namespaces:
    case Stage::identity_maps:
    case Stage::root:
    case Stage::proc:
    case Stage::host_name:
    case Stage::pivot:
    case Stage::landlock:
    case Stage::guard:
    case Stage::seccomp:
      return true;
    default:
      return false;
  }
}

Failure failure_of(const StatusRecord& record) {
  std::string stage = kStageNames[std::min<unsigned>(static_cast<unsigned>(record.stage), kStages - 1)];
  std::string object = stage + ": " + std::string(record.text, ::strnlen(record.text, sizeof record.text));
  if (means_missing_feature(record)) {
    HostFacts facts = probe_host();
    if (facts.tier() != Tier::full || (record.stage == Stage::seccomp && !facts.can_guard()))
      return cannot_confine(object + ": " + std::strerror(record.error), facts);
  }
  if (record.error == 0) return fail("sandbox", object, "an attempt that must fail succeeded", advice(record.stage));
  return fail_errno("sandbox", object, record.error, advice(record.stage));
}

// Where root hands over to another user: pipes and the terminal of the program are its own, so that /dev/stdout and
// /dev/tty's other name can be opened. Files, named FIFOs and sockets stay whose they are. Taken back unless kept.
class HandOver {
 public:
  HandOver() = default;
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;
  ~HandOver() {
    for (const Before& one : before_) (void)!::fchown(one.descriptor, one.uid, one.gid);
  }
  void give(int descriptor, uid_t uid, gid_t gid) {
    struct statfs place {};
    struct stat found {};
    if (descriptor < 0 || ::fstatfs(descriptor, &place) != 0 || ::fstat(descriptor, &found) != 0) return;
    if (place.f_type != PIPEFS_MAGIC && place.f_type != DEVPTS_SUPER_MAGIC) return;
    if (::fchown(descriptor, uid, gid) == 0) before_.push_back({descriptor, found.st_uid, found.st_gid});
  }
  void keep() { before_.clear(); }

 private:
  struct Before {
    int descriptor;
    uid_t uid;
    gid_t gid;
  };
  std::vector<Before> before_;
};

// The group's, or one that nobody writes to: the first process inside polls this number in any case.
Result<Fd> memory_event(const Cgroup& group) {
  int kept = group.memory_event();
  Fd event(kept >= 0 ? ::fcntl(kept, F_DUPFD_CLOEXEC, 3) : ::eventfd(0, EFD_CLOEXEC));
  if (!event) return fail_errno("sandbox", "memory event", errno);
  return event;
}

Spawn exec_path(std::string path, const Streams& streams) {
  Spawn spawn{};
  spawn.path = std::move(path);
  spawn.argv = {"oncelatch-exec"};
  spawn.death_signal = SIGKILL;
  const int given[3] = {streams.input, streams.output, streams.error};
  for (int number = 0; number < 3; ++number) {
    int from = given[number] >= 0 ? given[number] : streams.terminal;
    if (from >= 0) spawn.keep[number] = from;
  }
  return spawn;
}

Cgroup group_for(const SandboxPlan& plan) {
  if (!plan.limits.control_groups) return {};
  return Cgroup::make({plan.limits.memory, plan.limits.processes, plan.uid == 0});
}

// kernel.pid_max belongs to the pid namespace since 6.14; before, writing it would change the host.
bool pid_max_is_ours(const std::string& kernel) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(kernel.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 14);
}

// After the numbers have wrapped once the kernel gives none below 300, so where something else limits exactly, these
// may go higher.
std::uint64_t pid_max_of(const SandboxPlan& plan, const HostFacts& facts, const Cgroup& group) {
  constexpr std::uint64_t kReservedNumbers = 300;
  constexpr std::uint64_t kMostNumbers = 4 << 20;  // PID_MAX_LIMIT
  if (facts.tier() != Tier::full || !pid_max_is_ours(facts.kernel)) return 0;
  const bool exact = plan.uid != 0 || group.limits_processes();  // no rlimit binds the kernel's root
  return std::min(plan.limits.processes + (exact ? kReservedNumbers : 0), kMostNumbers);
}

Beginning beginning_of(const SandboxPlan& plan, const HostFacts& facts, const Streams& streams, const Cgroup& group) {
  const bool on_host = facts.tier() == Tier::landlock;
  Beginning beginning{.magic = kPlanMagic,
                      .version = kPlanVersion,
                      .flags = 0,
                      .uid = plan.uid,
                      .gid = plan.gid,
                      .shown_uid = on_host ? plan.uid : shown_uid(plan),
                      .shown_gid = on_host ? plan.gid : shown_gid(plan),
                      .unused = 0,
                      .pid_max = pid_max_of(plan, facts, group),
                      .temporary_bytes = plan.limits.temporary_bytes};
  auto set = [&](bool condition, std::uint32_t flag) { beginning.flags |= condition ? flag : 0; };
  set(plan.network == Network::ports, kPlanHostNetwork);
  set(plan.network == Network::loopback, kPlanLoopback);
  set(plan.allow_ptrace, kPlanAllowPtrace);
  set(streams.terminal >= 0, kPlanTerminal);
  // Else what is in the first process's group could fork past its end (sandbox/on_host.cc).
  const bool ends_all = !on_host || (landlock::known_scopes(facts.landlock_abi) & landlock::kScopeSignal) != 0;
  set(streams.job_control && ends_all, kPlanJobControl);
  set(on_host, kPlanLandlockTier);
  const bool guards = plan.guard && facts.can_guard();
  set(guards, kPlanGuard);
  set(guards && plan.held == HeldNames::ask, kPlanHeldAsked);
  set(guards && plan.held == HeldNames::refuse, kPlanHeldRefused);
  set(plan.hold_builds, kPlanHoldBuilds);
  set(!plan.new_worktrees, kPlanNoWorktrees);
  return beginning;
}

struct Pair {
  Fd ours;
  Fd theirs;
};

Result<Pair> make_pair(const char* name, int flags) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, ends) != 0)
    return fail_errno("sandbox", name, errno);
  return Pair{Fd(ends[0]), Fd(ends[1])};
}

Result<Entering> start_exec_path(const Beginning& beginning, const Streams& streams, Cgroup group) {
  Spawn spawn = exec_path(TRY(find_companion("oncelatch-exec")), streams);
  Pair plan = TRY(make_pair("plan socket", 0));
  Pair held;
  if ((beginning.flags & (kPlanHeldAsked | kPlanHeldRefused)) != 0)
    held = TRY(make_pair("the guard's channel", SOCK_NONBLOCK));
  if (::send(plan.ours.get(), &beginning, sizeof beginning, MSG_NOSIGNAL) != sizeof beginning)
    return fail_errno("sandbox", "plan socket", errno);
  Pipe status = TRY(make_pipe("status pipe"));
  Pipe lifeline = TRY(make_pipe("lifeline"));
  Pipe limit = TRY(make_pipe("limit pipe"));
  Fd event = TRY(memory_event(group));
  spawn.keep[kPlanDescriptor] = plan.theirs.get();
  spawn.keep[kStatusDescriptor] = status.write.get();
  spawn.keep[kLifelineDescriptor] = lifeline.read.get();
  spawn.keep[kLimitDescriptor] = limit.write.get();
  spawn.keep[kMemoryDescriptor] = event.get();
  if (held.theirs) spawn.keep[kGuardDescriptor] = held.theirs.get();
  spawn.enroll = group.enroll();
  Entering started;
  started.beginning = beginning;
  started.streams = streams;
  started.confined.group = std::move(group);
  started.confined.process = TRY(start(spawn));
  started.confined.lifeline = std::move(lifeline.write);
  started.confined.limit = std::move(limit.read);
  started.confined.held = std::move(held.ours);
  started.plan = std::move(plan.ours);
  started.status = std::move(status.read);
  return started;
}

// True: sent. False: nobody reads the plan's socket any more, and the status pipe tells why.
Result<bool> judge_sent(ssize_t sent) {
  if (sent == 1) return true;
  if (errno == EPIPE || errno == ECONNRESET) return false;
  if (errno == ETOOMANYREFS)
    return fail_errno("sandbox", "plan socket", errno,
                      "raise the limit of open files, or end what keeps descriptors in flight",
                      "this user's programs have too many descriptors in flight");
  return fail_errno("sandbox", "plan socket", errno);
}

// The kernel lets a user have as many descriptors in flight as the sender may have open. A session inside may have as
// many as our soft limit says, and so keep the next one from starting: as many as we may have go for a moment.
class MoreDescriptors {
 public:
  MoreDescriptors() {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) return;
    const rlimit most{before_.rlim_max, before_.rlim_max};
    raised_ = ::setrlimit(RLIMIT_NOFILE, &most) == 0;
  }
  MoreDescriptors(const MoreDescriptors&) = delete;
  MoreDescriptors& operator=(const MoreDescriptors&) = delete;
  ~MoreDescriptors() {
    if (raised_) ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  bool raised_ = false;
};

ssize_t send_word(int socket, char word) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket, &word, 1, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

Result<bool> send_descriptors(int socket, const int* first, std::size_t count) {
  char word = kDescriptorsWord;
  iovec bytes{&word, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostInMessage * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(header), first, count * sizeof(int));
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return judge_sent(sent);
}

Status deliver(int socket, const PreparedSandbox& prepared, int program) {
  std::vector<int> all = {prepared.message.get(), program};
  for (const Fd& source : prepared.sources) all.push_back(source.get());
  const MoreDescriptors more;
  for (std::size_t sent = 0; sent < all.size();) {
    const std::size_t count = std::min<std::size_t>(all.size() - sent, kMostInMessage);
    if (!TRY(send_descriptors(socket, all.data() + sent, count))) return {};
    sent += count;
  }
  return {};
}

}  // namespace

Result<Entering> begin_entering(const SandboxPlan& known, const HostFacts& facts, const Streams& streams) {
  if (facts.tier() == Tier::none || facts.tier() < known.least_tier) return cannot_confine("this machine", facts);
  Cgroup group = group_for(known);
  const Beginning beginning = beginning_of(known, facts, streams, group);
  return start_exec_path(beginning, streams, std::move(group));
}

Result<Confined> enter(const SandboxPlan& plan, const VerifiedArtifact& artifact, const HostFacts& facts,
                       const Streams& streams) {
  TRY(check_launch(plan, artifact, facts));
  return enter(TRY(begin_entering(plan, facts, streams)), plan, artifact, facts);
}

Result<Confined> enter(Entering begun, const SandboxPlan& plan, const VerifiedArtifact& artifact,
                       const HostFacts& facts) {
  TRY(check_launch(plan, artifact, facts));
  std::optional<PreparedSandbox> prepared;  // before the processes, so that these end before their targets go
  Entering entering = std::move(begun);
  const Streams& streams = entering.streams;
  Confined& confined = entering.confined;
  const Beginning beginning = beginning_of(plan, facts, streams, confined.group);
  if (std::memcmp(&beginning, &entering.beginning, sizeof beginning) != 0)
    return fail_errno("sandbox", "plan", EINVAL, "please report it", "it isn't the one that was begun with");
  prepared.emplace(TRY(prepare(plan, artifact, facts, confined.group)));
  TRY(deliver(entering.plan.get(), *prepared, artifact.fd()));
  prepared->sources.clear();
  // While the exec path builds the view; it waits for the word before it tests itself.
  TRY(prepared->planted->plant());
  HandOver handed;
  if (::geteuid() == 0 && plan.uid != 0)
    for (int fd : {streams.terminal, streams.input, streams.output, streams.error}) handed.give(fd, plan.uid, plan.gid);
  (void)TRY(judge_sent(send_word(entering.plan.get(), kPlantedWord)));
  Told told = TRY(listen(entering.status.get()));
  if (told.failure) return failure_of(*told.failure);
  if (!told.ready) return fail("sandbox", "start", "the set-up was killed", "check the kernel log for the reason");
  handed.keep();
  confined.self_test = std::move(told.self_test);
  return std::move(entering.confined);
}

// Nothing is taken that isn't the word.
bool was_stopped(Confined& confined) {
  const int pipe = confined.limit.get();
  pollfd entry{pipe, POLLIN, 0};
  char word = 0;
  if (::poll(&entry, 1, 0) != 1 || (entry.revents & POLLIN) == 0 || confined.told != Ending::unknown) return false;
  if (::read(pipe, &word, 1) != 1) return false;
  if (word == kStoppedWord) return true;
  confined.told = static_cast<Ending>(word);
  return false;
}

Ending ending_of(Confined& confined, const ExitStatus& status) {
  while (was_stopped(confined)) {
  }
  const Ending told = confined.told;
  if (told == Ending::exited && status.shell_code() != 0 && confined.group.refused_processes())
    return Ending::refused_processes;
  if (told != Ending::unknown && told != Ending::signal) return told;
  if (confined.group.ran_out_of_memory()) return Ending::memory;
  const bool killed = status.signaled || status.shell_code() == 128 + SIGKILL;  // the first process itself
  return told == Ending::signal || killed ? Ending::signal : Ending::unknown;
}

Result<std::string> find_companion(const std::string& name) {
  std::array<char, PATH_MAX> own;
  ssize_t size = ::readlink("/proc/self/exe", own.data(), own.size());
  if (size <= 0 || static_cast<std::size_t>(size) == own.size()) return fail_errno("sandbox", "/proc/self/exe", errno);
  std::string program(own.data(), static_cast<std::size_t>(size));
  std::string directory = program.substr(0, program.rfind('/'));
  std::vector<std::string> places = {directory, directory + "/../libexec/oncelatch"};
  // Installed, oncelatch itself lies beside none of its companions.
  if (directory.ends_with("/libexec/oncelatch")) places.push_back(directory + "/../../bin");
  for (const std::string& place : places) {
    std::string path = place + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return fail_errno("sandbox", name, ENOENT, "install it beside " + program);
}

}  // namespace oncelatch::sandbox
