#include <algorithm>
#include <cerrno>

#include "base/untrusted.h"
#include "launcher/exec/why_answer.h"
#include "sandbox/filter_answer.h"

namespace oncelatch::launcher {

namespace {

using sandbox::Answer;
using sandbox::CallAnswer;
using sandbox::CallArguments;
using sandbox::CallRule;

// They end, copy or stop whoever makes them, whatever the arguments.
constexpr std::string_view kNotTried[] = {"exit",         "exit_group",      "fork", "vfork", "pause",
                                          "rt_sigreturn", "restart_syscall", "clone"};

void add_words(std::vector<std::string>& words, std::uint32_t number, const CallArguments& arguments) {
  words.push_back(std::to_string(number));
  for (std::uint64_t argument : arguments) words.push_back(std::to_string(argument));
}

Result<std::vector<Attempt>> try_calls(const CallAnswer& answer, const WhyCase& about) {
  CallArguments plain;
  plain.fill(sandbox::kHarmless);
  std::vector<std::string> words = {"call"};
  add_words(words, answer.number, plain);
  for (const CallRule& rule : answer.rules) add_words(words, answer.number, rule.arguments);
  return TRY(probe_live(about.plan.sandbox, "/proc/self/exe", words, about.facts)).attempts;
}

std::string error_name(int error) {
  if (error == EPERM) return "EPERM";
  if (error == ENOSYS) return "ENOSYS";
  return error == EOPNOTSUPP ? "EOPNOTSUPP" : std::to_string(error);
}

WhyRow row_of(std::string what, int filter_error) {
  WhyRow row{.what = std::move(what), .plan = filter_error == 0 ? Answer::yes : Answer::no};
  row.expected = filter_error;
  row.through = filter_error == 0;
  return row;
}

// One a group; and where no group refuses every call of this name, one for the others. With harmless arguments that row
// would often be refused, too (no family of sockets is ~0), so it is tried only where no group knows the call.
std::vector<WhyRow> rows_of(const CallAnswer& answer) {
  std::vector<WhyRow> rows;
  for (const CallRule& rule : answer.rules) rows.push_back(row_of(rule.group, rule.filter_error));
  if (answer.rules.empty()) rows.push_back(row_of("any arguments", answer.plain_error));
  if (!answer.rules.empty() && !answer.always_refused()) rows.push_back(row_of("other arguments", 0));
  for (WhyRow& row : rows) row.asked = answer.always_refused() || &row == &rows.back();
  return rows;
}

void explain_call(WhyAnswer& why, const CallAnswer& answer, const std::string& name) {
  for (const CallRule& rule : answer.rules)
    why.rules.push_back("filter group " + rule.group + ", " + error_name(rule.error) + " for " +
                        (rule.always ? "every call: " : "some arguments: ") + rule.help);
  if (answer.rules.empty()) why.rules.emplace_back("no filter group knows it: the filter lets it through");
  if (answer.rules.empty()) return;
  if (name == "ptrace" && answer.always_refused()) {
    why.change.emplace_back("--allow ptrace");
    why.permits.emplace_back(
        "tracing of its own children: debuggers and LeakSanitizer work, and whatever runs inside can read and change "
        "the "
        "memory of what it starts. Other processes stay out of reach by the pid namespace and Landlock; the filter no "
        "longer helps");
    return;
  }
  why.permits.emplace_back("no option opens this");
}

}  // namespace

Result<WhyAnswer> why_call(const std::string& name, const WhyCase& about) {
  sandbox::FilterVariant variant{.ptrace = about.plan.sandbox.allow_ptrace};
  std::optional<CallAnswer> answer = sandbox::ask_filter(name, variant);
  if (!answer)
    return fail("command line", "syscall:" + escape_for_display(name, 100),
                "no system call of this machine has that name", "man 2 syscalls lists them");
  WhyAnswer why;
  why.object = "system call " + name + ", number " + std::to_string(answer->number);
  why.contradicts = answer->contradicts();
  explain_call(why, *answer, name);
  why.rows = rows_of(*answer);
  if (std::find(std::begin(kNotTried), std::end(kNotTried), name) != std::end(kNotTried)) {
    for (WhyRow& row : why.rows) row.not_tried = "it would end or copy the probe itself";
    return why;
  }
  std::vector<Attempt> tried = TRY(try_calls(*answer, about));
  if (tried.size() != answer->rules.size() + 1) return fail("probe", "live probe", "ended early", "run it again");
  if (answer->rules.empty()) why.rows.front().tried = tried.front().error;
  for (std::size_t i = 0; i < answer->rules.size(); ++i) why.rows[i].tried = tried[i + 1].error;
  return why;
}

}  // namespace oncelatch::launcher
