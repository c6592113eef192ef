// landlock(7): the second layer behind the mounts, at the ABI that was probed. Rules only add: nothing writable may lie
// above something that must not be written.
#include "sandbox/enforce.h"
#include "sandbox/landlock_abi.h"
#include "sandbox/ruleset.h"

namespace oncelatch::sandbox {

namespace {

using namespace landlock;

constexpr std::uint64_t kFileOnly = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;
constexpr std::uint64_t kRead = kReadFile | kReadDir;
// The creation guard will take MAKE_* and REFER away from the workspace and perform them on behalf. Device nodes never.
constexpr std::uint64_t kWrite = kWriteFile | kTruncate | kRemoveDir | kRemoveFile | kMakeDir | kMakeReg | kMakeSock |
                                 kMakeFifo | kMakeSym | kRefer | kResolveUnix;
constexpr std::uint64_t kUseDevice = kReadFile | kWriteFile | kTruncate | kReadDir;
constexpr std::uint64_t kUseTerminal = kReadFile | kWriteFile | kTruncate | kIoctlDev;

constexpr std::uint64_t kRightsTable[] = {
    0,                          // none
    kReadDir,                   // list
    kRead,                      // read
    kRead | kExecute,           // read_execute
    kRead | kWrite,             // read_write
    kRead | kWrite | kExecute,  // read_write_execute
};
static_assert(sizeof kRightsTable / sizeof kRightsTable[0] == kRightsKinds);

struct FixedRule {
  const char* path;
  std::uint64_t rights;
  bool required;
  const char* why;
};

constexpr FixedRule kFixedRules[] = {
    {"/", kReadDir, true, "names of the view"},
    {"/proc", kRead, true, "its own processes; nothing there is written"},
    {"/dev", kUseDevice, true, "null, zero, random and the like"},
    {"/dev/pts", kUseDevice | kIoctlDev, true, "its own pseudo-terminals"},
    {"/dev/tty", kUseTerminal, true, "its controlling terminal"},
    {"/dev/console", kUseTerminal, false, "the inner terminal by name"},
    {"/dev/shm", kRead | kWrite, true, "shared memory"},
};

Outcome allow_fixed(const Ruleset& ruleset) {
  for (const FixedRule& rule : kFixedRules) {
    long rc = ruleset.allow(rule.path, rule.rights);
    if (rc < 0 && (rule.required || rc != -ENOENT)) return failed(rc, rule.path);
  }
  return {};
}

Outcome allow_entries(const Ruleset& ruleset, const WirePlan& plan) {
  for (std::uint32_t i = 0; i < plan.entry_count; ++i) {
    const Entry& entry = plan.entries[i];
    if (entry.rights == Rights::none) continue;
    std::uint64_t rights = kRightsTable[static_cast<unsigned>(entry.rights)];
    if ((entry.flags & kIsDirectory) == 0) rights &= kFileOnly;
    if (long rc = ruleset.allow(entry.target.data, rights); rc < 0) return failed(rc, entry.target.data);
  }
  return {};
}

}  // namespace

Outcome restrict_self(Context& context) {
  const WirePlan& plan = *context.plan;
  if (plan.landlock_abi < kRequiredAbi) return failed(-EOPNOTSUPP, "ABI of the plan");
  Ruleset ruleset;
  if (long rc = ruleset.create(plan.landlock_abi, has(plan, kPlanLoopback) ? 0 : ~0ULL); rc < 0)
    return failed(rc, "create_ruleset");
  if (Outcome outcome = allow_fixed(ruleset); outcome.error != 0) return outcome;
  if (Outcome outcome = allow_entries(ruleset, plan); outcome.error != 0) return outcome;
  // By their inodes: neither has a name in the view.
  if (long rc = ruleset.allow(kProgramDescriptor, kExecute | kReadFile); rc < 0) return failed(rc, "program");
  if (has(plan, kPlanTerminal))
    if (long rc = ruleset.allow(terminal_descriptor(), kUseTerminal); rc < 0) return failed(rc, "terminal");
  for (std::uint32_t i = 0; has(plan, kPlanHostNetwork) && i < plan.port_count; ++i)
    if (long rc = ruleset.allow_connect(plan.ports[i]); rc < 0) return failed(rc, "port");
  if (long rc = ruleset.enter(); rc < 0) return failed(rc, "restrict_self");
  return {};
}

}  // namespace oncelatch::sandbox
