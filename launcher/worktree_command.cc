#include <unistd.h>

#include "base/beneath.h"
#include "base/json.h"
#include "base/untrusted.h"
#include "launcher/commands.h"
#include "launcher/errors.h"
#include "launcher/messages.h"
#include "launcher/session_report.h"
#include "launcher/worktree.h"

namespace oncelatch::launcher {

namespace {

struct Entry {
  Worktree tree;
  Result<WorktreeState> state;
  bool in_use;
};

Entry look_at(const Worktrees& all, const Worktree& tree) {
  return {tree, all.state(tree), !all.lock(tree)};
}

Json entry_body(const Entry& one) {
  Json body = {{"name", one.tree.name}, {"branch", one.tree.branch()}, {"path", one.tree.path}, {"in_use", one.in_use}};
  if (!one.state) {
    body["error"] = one.state.error().message();
    return body;
  }
  body["base"] = one.state->base;
  body["tip"] = one.state->tip;
  body["commits"] = one.state->commits;
  body["uncommitted"] = one.state->uncommitted;
  return body;
}

std::string entry_line(const Entry& one) {
  std::string line = one.tree.name + "  " + one.tree.branch();
  if (!one.state) return line + "  " + one.state.error().what + "; try: " + one.state.error().try_next + "\n";
  line += "  " + std::to_string(one.state->commits) + (one.state->commits == 1 ? " commit" : " commits");
  if (one.state->uncommitted) line += ", changes not committed";
  if (one.in_use) line += ", a session works in it";
  return line + "  " + escape_for_display(one.tree.path, 400) + "\n";
}

// As it is for a program; on a terminal every line is made harmless, tabs kept.
std::string for_reader(const std::string& diff) {
  if (::isatty(STDOUT_FILENO) != 1) return diff;
  std::string page;
  std::size_t start = 0;
  for (std::size_t at = 0; at < diff.size(); ++at) {
    if (diff[at] != '\n' && diff[at] != '\t') continue;
    page += escape_for_display(std::string_view(diff).substr(start, at - start), diff.size()) + diff[at];
    start = at + 1;
  }
  return page + escape_for_display(std::string_view(diff).substr(start), diff.size());
}

// The diff is what was asked for, byte by byte: a patch that is marked doesn't apply.
Status print_diff(const std::string& diff) {
  const std::string text = for_reader(diff);
  if (text.empty()) return {};
  return write_all(STDOUT_FILENO, text.ends_with('\n') ? text : text + "\n", "output");
}

Json effects_body(const AfterRunReport& seen) {
  return host_effects_body(seen, seen.effects.size());
}

Status print_json(const Json& body) {
  return write_all(STDOUT_FILENO, dump_json(body) + "\n", "output");
}

void tell_effects(const AfterRunReport& seen) {
  for (const std::string& line : effect_lines(seen)) tell(line);
}

Status list(const Worktrees& all, bool json) {
  Json body = Json::array();
  std::string page;
  for (const Worktree& tree : all.all()) {
    const Entry one = look_at(all, tree);
    if (json)
      body.push_back(entry_body(one));
    else
      page += entry_line(one);
  }
  if (json) return print_json(body);
  if (page.empty()) tell("no worktree of oncelatch here\n  try: oncelatch run kiro --worktree");
  return print_page(page) ? Status() : Failure(Error{"output", "stdout", "not written", "", 0});
}

Status diff(const Worktrees& all, const WorktreeOptions& options) {
  const Worktree tree = TRY(all.find(options.name));
  const WorktreeWork work = TRY(all.work(tree));
  const WorktreeState& state = work.state();
  const AfterRunReport seen = TRY(work.effects(state.base, state.tree));
  const std::string text = TRY(work.diff());
  if (!options.json) {
    tell_effects(seen);
    return print_diff(text);
  }
  Json body = entry_body({tree, state, !all.lock(tree)});
  body["host_effects"] = effects_body(seen);
  body["diff"] = text;
  return print_json(body);
}

Status apply(const Worktrees& all, const WorktreeOptions& options) {
  const Worktree tree = TRY(all.find(options.name));
  const Fd lock = TRY(all.lock(tree));
  WorktreeWork work = TRY(all.work(tree));
  const WorktreeState& state = work.state();
  if (options.commit) TRY(work.commit());
  const WorktreeMerge merge = TRY(work.prepare());
  const AfterRunReport seen = TRY(work.effects(merge.from, merge.to));
  if (!options.json) tell_effects(seen);
  TRY(work.apply(merge));
  if (options.json)
    return print_json(
        {{"name", tree.name}, {"commits", state.commits}, {"head", merge.to}, {"host_effects", effects_body(seen)}});
  tell(state.commits == 0 ? "worktree " + tree.name + ": nothing to apply"
                          : "worktree " + tree.name + ": " + std::to_string(state.commits) +
                                (state.commits == 1 ? " commit is" : " commits are") +
                                " in this branch now\n  try: oncelatch worktree drop " + tree.name);
  return {};
}

Status drop(const Worktrees& all, const WorktreeOptions& options) {
  const Worktree tree = TRY(all.find(options.name));
  const Fd lock = TRY(all.lock(tree));
  TRY(all.drop(tree, options.force));
  if (options.json) return print_json({{"name", tree.name}, {"dropped", true}});
  tell("worktree " + tree.name + ": dropped, and its branch");
  return {};
}

Status do_it(const WorktreeOptions& options, const std::vector<std::string>& environment) {
  const Worktrees all = TRY(Worktrees::open(".", environment));
  switch (options.verb) {
    case WorktreeOptions::Verb::list:
      return list(all, options.json);
    case WorktreeOptions::Verb::diff:
      return diff(all, options);
    case WorktreeOptions::Verb::apply:
      return apply(all, options);
    case WorktreeOptions::Verb::drop:
      return drop(all, options);
  }
  return {};
}

}  // namespace

int worktree(const WorktreeOptions& options, const std::vector<std::string>& environment) {
  const Status done = do_it(options, environment);
  return done ? 0 : report_error(done.error());
}

}  // namespace oncelatch::launcher
