#include "launcher/exec/why.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/untrusted.h"
#include "launcher/change_set.h"
#include "launcher/errors.h"
#include "launcher/exec/page.h"
#include "launcher/exec/requirements.h"
#include "launcher/exec/why_answer.h"
#include "launcher/exit_codes.h"
#include "launcher/messages.h"
#include "sandbox/filter_answer.h"

namespace oncelatch::launcher {

namespace {

using sandbox::Answer;

constexpr int kRefused = 1;
constexpr std::size_t kWhat = 20;
constexpr std::size_t kPlan = 12;

std::string why_help() {
  Page page(26);
  page.line("Usage: oncelatch why [OPTIONS] OBJECT\n");
  page.text(
      "Says whether the sandbox permits something, by which rule, and what would change it: once from the plan, once "
      "by "
      "trying it in a real sandbox of that plan. Nothing of yours is changed; a name made to try is gone at once.");
  page.title("Objects:");
  page.row("PATH", "a file or directory: is it readable?");
  page.row("write:PATH", "the same, asking about writing; also exec:PATH and create:PATH");
  page.row("socket:/PATH", "a unix socket");
  page.row("socket:tcp:ADDRESS:PORT", "a TCP port, as in socket:tcp:127.0.0.1:8080; also socket:udp:");
  page.row("socket:abstract:NAME", "an abstract unix socket");
  page.row("syscall:NAME, NAME", "a system call, as in ptrace (a file of that name: ./ptrace)");
  page.title("Options, those of exec (--time and --report say nothing here):");
  page.line(exec_option_lines());
  page.text("Exit code: 0 permitted, 1 refused, 122 the question makes no sense, 125 plan and attempt disagree.");
  return page.take();
}

std::string in_words(Answer answer) {
  if (answer == Answer::depends) return "depends";
  return answer == Answer::yes ? "yes" : "no";
}

std::string tried_words(const WhyRow& row) {
  if (!row.not_tried.empty()) return "not tried: " + row.not_tried;
  if (!row.tried) return "-";
  if (*row.tried == 0) return "yes";
  const bool reached = row.through || (row.plan != Answer::no && std::find(row.excused.begin(), row.excused.end(),
                                                                           *row.tried) != row.excused.end());
  return (reached ? "let through: " : "no: ") + std::string(std::strerror(*row.tried));
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

void add_lines(Page& page, const char* title, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) page.row(i == 0 ? title : "", lines[i]);
}

bool tell_answer(const WhyAnswer& why) {
  Page page(kWhat);
  page.line(why.object);
  add_lines(page, "rule", why.rules);
  page.line("\n  " + padded("", kWhat - 2) + padded("the plan", kPlan) + "tried in a sandbox");
  for (const WhyRow& row : why.rows)
    page.line("  " + padded(row.what, kWhat - 2) + padded(in_words(row.plan), kPlan) + tried_words(row));
  if (!why.change.empty() || !why.permits.empty() || !why.notes.empty()) page.line("");
  for (std::size_t i = 0; i < why.change.size(); ++i) {
    page.row(i == 0 ? "to change it" : "or", why.change[i]);
    if (i < why.permits.size()) page.row("it permits", why.permits[i]);
  }
  for (std::size_t i = why.change.size(); i < why.permits.size(); ++i)
    page.row(why.change.empty() ? "to change it" : "", why.permits[i]);
  add_lines(page, "note", why.notes);
  return print_page(page.take());
}

int tell_disagreement(bool permitted) {
  tell(permitted
           ? "DISAGREEMENT: the sandbox permitted what its plan refuses, see above. It doesn't hold here.\n"
             "  try: oncelatch doctor; please report it with this output"
           : "DISAGREEMENT: the sandbox refused what its plan permits, see above. Something besides oncelatch may "
             "refuse it: an attribute of the file, a lease, another security module.\n"
             "  try: the same outside of the sandbox; if that works, please report it with this output");
  return kExitLauncher;
}

int verdict(const WhyAnswer& why) {
  bool permitted = why.contradicts;
  bool refused = false;
  for (const WhyRow& row : why.rows) {
    permitted = permitted || (row.disagrees() && row.plan == Answer::no);
    refused = refused || row.disagrees();
  }
  if (permitted || refused) return tell_disagreement(permitted);
  for (const WhyRow& row : why.rows) {
    if (!row.asked) continue;
    bool no = row.plan == Answer::depends ? row.tried.value_or(0) != 0 : row.plan == Answer::no;
    return no ? kRefused : 0;
  }
  return 0;
}

std::string absolute(const std::string& path) {
  if (path.rfind('/', 0) == 0) return path;
  std::string here = real_path(".");
  return (here == "/" ? "" : here) + "/" + path;
}

Result<WhyAnswer> answer_path(const std::string& path, std::string_view use, const WhyCase& about) {
  if (path.empty()) return fail("command line", "why", "an empty path", "oncelatch why --help");
  return why_path({absolute(path), use}, about);
}

Result<WhyAnswer> answer(const std::string& object, const WhyCase& about) {
  constexpr std::pair<std::string_view, std::string_view> kUses[] = {
      {"read:", "readable"}, {"write:", "writable"}, {"exec:", "executable"}, {"create:", "creatable"}};
  if (object.rfind("socket:", 0) == 0) return why_socket(object.substr(7), about);
  if (object.rfind("syscall:", 0) == 0) return why_call(object.substr(8), about);
  for (const auto& [prefix, use] : kUses)
    if (object.rfind(prefix, 0) == 0) return answer_path(object.substr(prefix.size()), use, about);
  if (sandbox::call_number(object)) return why_call(object, about);
  return answer_path(object, "readable", about);
}

// An overlay's, for the attempt: gone after it.
Result<ChangeSet> layers_for(sandbox::SandboxPlan& plan, const std::vector<std::string>& environment) {
  const ChangeSets sets = TRY(ChangeSets::open(environment));
  ChangeSet set = TRY(sets.create(plan.workspace));
  TRY(set.give_layers(plan.uid, plan.gid));
  plan.layers = set.layers();
  return set;
}

Result<int> ask(ExecOptions options, const std::vector<std::string>& environment) {
  if (options.command.size() != 1) return fail("command line", "why", "one object at a time", "oncelatch why --help");
  const std::string object = options.command[0];
  options.command = {"/bin/sh"};  // what exec would run doesn't matter
  ExecPlan plan = TRY(make_exec_plan(options, environment));
  sandbox::HostFacts facts = sandbox::probe_host(sandbox::Probing::quick);
  // What follows answers for a view of its own, which only this tier has.
  if (facts.tier() != sandbox::Tier::full) return sandbox::cannot_confine("why", facts);
  TRY(sandbox::check_required(sandbox::guarantees(facts, plan.sandbox), requirements_of(options),
                              options.accepted_losses, facts));  // nothing is permitted where `exec` wouldn't start
  plan.sandbox.guard = plan.sandbox.guard && facts.can_guard();
  std::optional<ChangeSet> changes;
  if (plan.sandbox.overlay) changes.emplace(TRY(layers_for(plan.sandbox, environment)));
  Result<WhyAnswer> answered = answer(object, {options, plan, facts, environment});
  if (changes) TRY(changes->remove());
  WhyAnswer why = TRY(std::move(answered));
  if (!tell_answer(why)) return kExitLauncher;
  return verdict(why);
}

}  // namespace

bool WhyRow::disagrees() const {
  if (!tried) return false;
  const bool is_excused = std::find(excused.begin(), excused.end(), *tried) != excused.end();
  if (plan == Answer::yes && expected == 0) return *tried != 0 && !is_excused && !excused.empty();
  if (plan != Answer::no) return false;
  return expected != 0 ? *tried != expected : *tried == 0;
}

int why_command(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  Result<ExecOptions> options = parse_exec_options(arguments);
  if (!options && options.error().object == "exec")
    return report_error(
        fail("command line", "why", "no object: a path, a socket or a system call", "oncelatch why --help").value());
  if (!options) return report_error(options.error());
  if (options->help) return print_page(why_help()) ? 0 : kExitLauncher;
  Result<int> code = ask(std::move(*options), environment);
  return code ? *code : report_error(code.error());
}

}  // namespace oncelatch::launcher
