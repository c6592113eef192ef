#include "sandbox/filter_answer.h"

#include <linux/audit.h>

#include <algorithm>
#include <cerrno>

#include "sandbox/filter_data.h"
#include "sandbox/filter_machine.h"
#include "sandbox/syscall_groups.h"
#include "sandbox/syscall_names.h"

namespace oncelatch::sandbox {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "no filter for this architecture"
#endif

// The errno of the loaded program's answer, 0 where it lets the call through, EFAULT where it ends the process.
int filter_error(std::uint32_t number, const CallArguments& arguments, const FilterVariant& variant) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = kArchitecture;
  for (std::size_t i = 0; i < arguments.size(); ++i) data.args[i] = arguments[i];
  const FilterProgram& program = kFilters[filter_variant(variant)];
  std::optional<std::uint32_t> action = run_filter(program.instructions, program.length, data);
  if (!action) return EFAULT;
  if (*action == SECCOMP_RET_ALLOW) return 0;
  bool told = (*action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
  return told ? static_cast<int>(*action & SECCOMP_RET_DATA) : EFAULT;
}

CallArguments harmless() {
  CallArguments arguments;
  arguments.fill(kHarmless);
  return arguments;
}

// Harmless but for what the tests look at. Any value that isn't `value` passes above and differs.
CallArguments refused_by(const SyscallRule& rule) {
  CallArguments arguments = harmless();
  for (const ArgumentTest& test : rule.tests) {
    std::uint64_t& argument = arguments[test.argument];
    if (test.kind == ArgumentTest::Kind::masked) argument = (argument & ~test.mask) | test.value;
  }
  return arguments;
}

// For families and flags the low half alone: a 64-bit value would fail for its size already.
void add_rules(CallAnswer& answer, std::string_view name, const FilterVariant& variant) {
  for (const SyscallGroup& group : syscall_groups(variant)) {
    auto rule =
        std::find_if(group.rules.begin(), group.rules.end(), [&](const SyscallRule& one) { return one.name == name; });
    if (rule == group.rules.end()) continue;
    CallRule found{std::string(group.name), std::string(group.help), group.error,
                   rule->tests.empty(),     refused_by(*rule),       0};
    found.filter_error = filter_error(answer.number, found.arguments, variant);
    answer.rules.push_back(std::move(found));
  }
}

void add_special(CallAnswer& answer, std::string_view name, const FilterVariant& variant) {
  bool unnamed =
      std::find(std::begin(kUnnamedRefused), std::end(kUnnamedRefused), answer.number) != std::end(kUnnamedRefused);
  if (!unnamed && name != "personality") return;
  CallRule rule{unnamed ? "newer-calls" : "personality", "", unnamed ? ENOSYS : EPERM, unnamed, harmless(), 0};
  rule.help = unnamed ? "calls the filter can't look into; programs fall back"
                      : "execution domains other than Linux's own, which weaken the address space";
  if (!unnamed) rule.arguments[0] = 0x0040000;  // ADDR_NO_RANDOMIZE
  rule.filter_error = filter_error(answer.number, rule.arguments, variant);
  answer.rules.push_back(std::move(rule));
}

}  // namespace

bool CallAnswer::always_refused() const {
  return std::any_of(rules.begin(), rules.end(), [](const CallRule& rule) { return rule.always; });
}

bool CallAnswer::contradicts() const {
  if (rules.empty() && plain_error != 0) return true;
  if (always_refused() && plain_error == 0) return true;
  return std::any_of(rules.begin(), rules.end(), [](const CallRule& rule) { return rule.filter_error == 0; });
}

std::optional<std::uint32_t> call_number(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (std::uint32_t number = 0; number <= kNewestKnownSyscall; ++number)
    if (name == kSyscallNames[number]) return number;
  return std::nullopt;
}

std::optional<CallAnswer> ask_filter(std::string_view name, const FilterVariant& variant) {
  std::optional<std::uint32_t> number = call_number(name);
  if (!number) return std::nullopt;
  CallAnswer answer;
  answer.number = *number;
  add_rules(answer, name, variant);
  add_special(answer, name, variant);
  answer.plain_error = filter_error(answer.number, harmless(), variant);
  return answer;
}

}  // namespace oncelatch::sandbox
