// landlock(7): the second layer behind the mounts, at the ABI that was probed. Rules only add: nothing writable may lie
// above something that must not be written.
#include "sandbox/enforce.h"
#include "sandbox/landlock_abi.h"
#include "sandbox/landlock_rules.h"
#include "sandbox/ruleset.h"

namespace oncelatch::sandbox {

namespace {

using namespace landlock;

// Of the Landlock tier: names of the host, so no directory of devices and no terminal but the one handed over.
constexpr FixedRule kFixedRulesOnHost[] = {
    {"/proc", kRead, true, "its own processes; what the user may read of others"},
    {"/dev/null", kUseDeviceFile, true, "harmless"},
    {"/dev/zero", kUseDeviceFile, true, "harmless"},
    {"/dev/full", kUseDeviceFile, false, "harmless"},
    {"/dev/random", kUseDeviceFile, true, "harmless"},
    {"/dev/urandom", kUseDeviceFile, true, "harmless"},
    {"/dev/tty", kUseTerminal, false, "its controlling terminal"},
};

template <unsigned Count>
Outcome allow_fixed(const Ruleset& ruleset, const FixedRule (&rules)[Count]) {
  for (const FixedRule& rule : rules) {
    long rc = ruleset.allow(rule.path, rule.rights);
    if (rc < 0 && (rule.required || rc != -ENOENT)) return failed(rc, rule.path);
  }
  return {};
}

// By name in the view; in the Landlock tier by the very descriptor that was opened outside.
long allow_entry(const Ruleset& ruleset, const Context& context, const Entry& entry, std::uint64_t rights) {
  const bool on_host = has(*context.plan, kPlanLandlockTier);
  if (on_host && entry.source >= 0) return ruleset.allow(context.sources[entry.source], rights);
  return ruleset.allow(entry.target.data, rights);
}

Outcome allow_entries(const Ruleset& ruleset, const Context& context) {
  const WirePlan& plan = *context.plan;
  for (std::uint32_t i = 0; i < plan.entry_count; ++i) {
    const Entry& entry = plan.entries[i];
    if (entry.rights == Rights::none) continue;
    std::uint64_t rights = kRightsTable[static_cast<unsigned>(entry.rights)];
    if ((entry.flags & kIsDirectory) == 0) rights &= kFileOnly;
    if (long rc = allow_entry(ruleset, context, entry, rights); rc < 0) return failed(rc, entry.target.data);
  }
  return {};
}

// What every tier allows besides its fixed rules.
Outcome allow_planned(const Ruleset& ruleset, const Context& context) {
  const WirePlan& plan = *context.plan;
  if (Outcome outcome = allow_entries(ruleset, context); outcome.error != 0) return outcome;
  // By their inodes: neither has a name in the view.
  if (long rc = ruleset.allow(context.program, kExecute | kReadFile); rc < 0) return failed(rc, "program");
  if (has(plan, kPlanTerminal))
    if (long rc = ruleset.allow(terminal_descriptor(), kUseTerminal); rc < 0) return failed(rc, "terminal");
  for (std::uint32_t i = 0; has(plan, kPlanHostNetwork) && i < plan.port_count; ++i)
    if (long rc = ruleset.allow_connect(plan.ports[i]); rc < 0) return failed(rc, "port");
  return {};
}

// With the host's network datagrams stay open, for names of hosts; guarantees.cc says so.
std::uint64_t handled_network(const WirePlan& plan) {
  if (has(plan, kPlanLoopback)) return 0;
  return has(plan, kPlanHostNetwork) ? kBindTcp | kConnectTcp : ~0ULL;
}

template <unsigned Count>
Outcome restrict_by(const Context& context, int least_abi, const FixedRule (&rules)[Count]) {
  const WirePlan& plan = *context.plan;
  if (plan.landlock_abi < least_abi) return failed(-EOPNOTSUPP, "ABI of the plan");
  Ruleset ruleset;
  if (long rc = ruleset.create(plan.landlock_abi, handled_network(plan)); rc < 0) return failed(rc, "create_ruleset");
  if (Outcome outcome = allow_fixed(ruleset, rules); outcome.error != 0) return outcome;
  if (Outcome outcome = allow_planned(ruleset, context); outcome.error != 0) return outcome;
  if (long rc = ruleset.enter(); rc < 0) return failed(rc, "restrict_self");
  return {};
}

// Of the program under the guard: what makes, moves, writes and cuts off goes only where no guarded tree is touched.
// Everything else is the first domain's.
constexpr std::uint64_t kOnBehalf =
    kWriteFile | kTruncate | kMakeDir | kMakeReg | kMakeSock | kMakeFifo | kMakeSym | kRefer;

Outcome allow_own(const Ruleset& ruleset, const Context& context) {
  const WirePlan& plan = *context.plan;
  if (long rc = ruleset.allow("/dev", kOnBehalf); rc < 0) return failed(rc, "/dev");  // private, and below it too
  for (std::uint32_t i = 0; i < plan.entry_count; ++i) {
    const Entry& entry = plan.entries[i];
    if (!makes_by_itself(plan, entry)) continue;
    const std::uint64_t rights = (entry.flags & kIsDirectory) != 0 ? kOnBehalf : kOnBehalf & kFileOnly;
    if (long rc = ruleset.allow(entry.target.data, rights); rc < 0) return failed(rc, entry.target.data);
  }
  if (has(plan, kPlanTerminal))
    if (long rc = ruleset.allow(terminal_descriptor(), kUseTerminal & kOnBehalf); rc < 0) return failed(rc, "terminal");
  return {};
}

}  // namespace

Outcome restrict_self(Context& context) {
  return restrict_by(context, kRequiredAbi, kFixedRules);
}

Outcome leave_making_to_broker(Context& context) {
  Ruleset ruleset;
  const long rc = ruleset.create_for(kOnBehalf & known_file_rights(context.plan->landlock_abi));
  if (rc < 0) return failed(rc, "guard: create_ruleset");
  if (Outcome outcome = allow_own(ruleset, context); outcome.error != 0) return outcome;
  if (long entered = ruleset.enter(); entered < 0) return failed(entered, "guard: restrict_self");
  return {};
}

Outcome restrict_on_host(Context& context) {
  return restrict_by(context, kLandlockTierAbi, kFixedRulesOnHost);
}

}  // namespace oncelatch::sandbox
