#include "launcher/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/untrusted.h"
#include "base/yaml.h"
#include "launcher/exit_codes.h"
#include "launcher/host_effects.h"
#include "launcher/version.h"

namespace oncelatch::launcher {
namespace {

// What follows the first "--" belongs to the agent, whatever it looks like.
std::vector<std::string> split_arguments(int argc, const char* const* argv, std::vector<std::string>& after) {
  std::vector<std::string> before;
  int index = 1;
  for (; index < argc && std::string(argv[index]) != "--"; ++index) before.emplace_back(argv[index]);
  for (++index; index < argc; ++index) after.emplace_back(argv[index]);
  return before;
}

// An empty value is an unset variable of somebody's script: it must not switch a protection off.
CLI::Option* must_have_text(CLI::Option* option) {
  return option->check(
      [](const std::string& text) { return text.empty() ? std::string("must not be empty") : std::string(); });
}

void add_run(CLI::App& app, ParsedCommand& parsed) {
  CLI::App* run =
      app.add_subcommand("run", "Start an agent, confined, and answer its prompts from a policy or a person");
  run->add_option("agent", parsed.run.agent, "The agent: kiro")->required();
  must_have_text(
      run->add_option("--cli-path", parsed.run.cli_path, "The agent's program (default: looked up in PATH)"));
  must_have_text(
      run->add_option("--sha256", parsed.run.sha256, "Digest that the program must have, 64 hexadecimal digits"));
  must_have_text(run->add_option("--workspace", parsed.run.workspace,
                                 "The directory the agent may write in (default: the current one)"));
  run->add_option(
         "--worktree", parsed.run.worktree,
         "Work on a new branch oncelatch/NAME in a worktree of its own (default: a name by the time); one that "
         "exists is gone on with")
      ->expected(0, 1)
      ->type_name("[NAME]");
  run->add_option_function<std::string>(
         "--git", [&parsed](const std::string& value) { parsed.run.own_branch = value == "own-branch"; },
         "any (default), or own-branch: no branch but the one checked out is moved, no tag, no HEAD")
      ->check(CLI::IsMember({"any", "own-branch"}));
  must_have_text(
      run->add_option("--policy", parsed.run.policy, "Permission policy, YAML (default: every prompt is asked)"));
  run->add_flag("--unattended", parsed.run.unattended,
                "Nobody is there: what policy leaves open is declined; exit code 120");
  must_have_text(run->add_option("--report", parsed.run.report, "Write a JSON report of the whole run to this file"));
  must_have_text(run->add_option("--sarif", parsed.run.sarif,
                                 "Write what changed that runs outside later to this file, as SARIF 2.1.0"));
  run->add_option("--fail-on", parsed.run.fail_on,
                  "Exit code 123 where something changed that runs outside later: any, refused, git, ci, …; may be "
                  "repeated")
      ->allow_extra_args(false)
      ->check([](const std::string& kind) {
        return is_effect_kind(kind) ? std::string()
                                    : "write any, refused, held, reported, or a kind: " + effect_kinds();
      });
  must_have_text(run->add_option("--events", parsed.run.events, "Write JSON lines as things happen: a file, or fd:N"));
  must_have_text(run->add_option("--net", parsed.run.network,
                                 "none, loopback, or ports:443,… of the host's network (default: ports:443)"));
  run->add_option("--accept-loss", parsed.run.accepted_losses,
                  "Go on although this machine can't give that guarantee; may be repeated")
      ->allow_extra_args(false);
  run->footer("Arguments after -- go to the agent. Detach with C-] d, come back with: oncelatch attach");
  run->callback([&parsed] { parsed.command = Command::run; });
}

void add_approvals(CLI::App& app, ParsedCommand& parsed) {
  CLI::App* approvals = app.add_subcommand("approvals", "What waits for a person in every running session");
  approvals->require_subcommand(1);
  CLI::App* list = approvals->add_subcommand("list", "List what waits");
  list->add_flag("--json", parsed.json, "One JSON array");
  list->callback([&parsed] { parsed.command = Command::approvals_list; });
  CLI::App* accept = approvals->add_subcommand("accept", "Accept one request, one time");
  accept->add_option("id", parsed.id, "Id as listed")->required();
  accept->callback([&parsed] { parsed.command = Command::approvals_accept; });
  CLI::App* decline = approvals->add_subcommand("decline", "Decline one request");
  decline->add_option("id", parsed.id, "Id as listed")->required();
  decline->callback([&parsed] { parsed.command = Command::approvals_decline; });
}

void add_audit(CLI::App& app, ParsedCommand& parsed) {
  CLI::App* audit = app.add_subcommand("audit", "The record");
  audit->require_subcommand(1);
  CLI::App* list = audit->add_subcommand("list", "Decisions, reasons, delivery and outcome");
  list->add_flag("--json", parsed.json, "One JSON object a line");
  list->add_option("--session", parsed.id, "Only this session");
  list->add_option("--most", parsed.most, "At most so many of the newest rows (default 1000)")
      ->check(CLI::Range(1, 10'000'000));
  list->callback([&parsed] { parsed.command = Command::audit_list; });
  CLI::App* verify = audit->add_subcommand("verify", "Recompute every session's hash chain");
  verify->callback([&parsed] { parsed.command = Command::audit_verify; });
}

void add_worktree(CLI::App& app, ParsedCommand& parsed) {
  CLI::App* worktree = app.add_subcommand("worktree", "What agents did in worktrees of their own (run --worktree)");
  worktree->require_subcommand(1);
  using Verb = WorktreeOptions::Verb;
  auto add = [&](const char* name, const char* help, Verb verb) {
    CLI::App* one = worktree->add_subcommand(name, help);
    one->add_flag("--json", parsed.worktree.json, "JSON");
    if (verb != Verb::list) one->add_option("name", parsed.worktree.name, "Its name (default: the only one)");
    one->callback([&parsed, verb] {
      parsed.command = Command::worktree;
      parsed.worktree.verb = verb;
    });
    return one;
  };
  add("list", "List those of this repository", Verb::list);
  add("diff", "Show what changed in it, and what of that takes effect on the host", Verb::diff);
  add("apply", "Bring its commits into the branch that is checked out here", Verb::apply)
      ->add_flag("--commit", parsed.worktree.commit, "Commit first what isn't committed");
  add("drop", "Remove it and its branch; what would be lost is refused", Verb::drop)
      ->add_flag("--force", parsed.worktree.force, "Lose it");
}

void add_changes(CLI::App& app, ParsedCommand& parsed) {
  using Verb = ChangesOptions::Verb;
  struct Row {
    const char* name;
    const char* help;
    Verb verb;
  };
  constexpr Row kRows[] = {{"list", "What is kept, of which workspace", Verb::list},
                           {"diff", "What differs from the workspace as it is now", Verb::diff},
                           {"apply", "Promote into the workspace all of it, or what lies at the paths", Verb::apply},
                           {"drop", "Remove a set with everything in it", Verb::drop}};
  CLI::App* changes = app.add_subcommand("changes", "What runs with --workspace-mode overlay left");
  changes->require_subcommand(1);
  for (const Row& row : kRows) {
    CLI::App* verb = changes->add_subcommand(row.name, row.help);
    verb->add_flag("--json", parsed.changes.json, "JSON");
    if (row.verb == Verb::drop)
      verb->add_option("id", parsed.changes.words, "Set as listed (default: this directory's only one)")
          ->expected(0, 1);
    else if (row.verb != Verb::list)
      verb->add_option("id-and-paths", parsed.changes.words,
                       "Set as listed (default: this directory's only one), then paths in the workspace");
    verb->callback([&parsed, chosen = row.verb] {
      parsed.command = Command::changes;
      parsed.changes.verb = chosen;
    });
  }
}

// Listed for the help only: these are done before this parser is asked (launcher/exec/main.cc).
void add_light(CLI::App& app) {
  app.add_subcommand("exec", "Run any command in the sandbox (options: oncelatch exec --help)");
  app.add_subcommand("why", "Why the sandbox shows or refuses a path, socket or system call, and what would change it");
}

void add_rest(CLI::App& app, ParsedCommand& parsed) {
  CLI::App* attach = app.add_subcommand("attach", "Attach this terminal to a running session (detach: C-] d)");
  attach->add_option("session", parsed.id, "Session id (default: the only one)");
  attach->callback([&parsed] { parsed.command = Command::attach; });
  CLI::App* doctor = app.add_subcommand("doctor", "What this machine can enforce, proved by trying");
  doctor->add_flag("--json", parsed.json, "JSON");
  doctor->callback([&parsed] { parsed.command = Command::doctor; });
  CLI::App* demo = app.add_subcommand("demo", "The whole thing on the bundled demo agent: no account, no network");
  demo->add_flag("--watch", parsed.watch, "Show the agent's own terminal while it runs");
  demo->callback([&parsed] { parsed.command = Command::demo; });
}

// CLI11 would only say that a command is required.
std::string unknown_command(const std::vector<std::string>& arguments) {
  static const std::vector<std::string_view> known = {"run",   "exec",    "why",      "attach", "approvals",
                                                      "audit", "changes", "worktree", "doctor", "demo"};
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-') return {};
  if (std::find(known.begin(), known.end(), arguments[0]) != known.end()) return {};
  const std::string near = nearest_word(arguments[0], known);
  return escape_for_display(arguments[0], 100) + ": no such command" +
         (near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace

ParsedCommand parse_command_line(int argc, const char* const* argv) {
  ParsedCommand parsed;
  std::vector<std::string> arguments = split_arguments(argc, argv, parsed.run.arguments);
  if (const std::string unknown = unknown_command(arguments); !unknown.empty()) {
    fmt::print(stderr, "oncelatch: command line: {}\n  try: oncelatch --help\n", unknown);
    parsed.exit_now = kExitConfiguration;
    return parsed;
  }
  CLI::App app(
      "oncelatch runs an AI coding CLI so that it can do nothing that was not allowed, once, by somebody entitled to.",
      "oncelatch");
  app.set_version_flag("--version", std::string("oncelatch ") + kVersion);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  add_run(app, parsed);
  add_light(app);
  add_approvals(app, parsed);
  add_audit(app, parsed);
  add_worktree(app, parsed);
  add_changes(app, parsed);
  add_rest(app, parsed);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp& help) {
    parsed.exit_now = app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    parsed.exit_now = app.exit(version);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "oncelatch: command line: {}\n  try: oncelatch --help\n", error.what());
    parsed.exit_now = kExitConfiguration;
  }
  if (!parsed.exit_now && parsed.command != Command::run && !parsed.run.arguments.empty()) {
    fmt::print(stderr, "oncelatch: command line: arguments after -- belong to run only\n  try: oncelatch --help\n");
    parsed.exit_now = kExitConfiguration;
  }
  return parsed;
}

}  // namespace oncelatch::launcher
