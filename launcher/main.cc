// oncelatch-session: every command but `exec` and `why`, each a function of commands.h or run.h. Those two come here
// only to have a profile read that isn't built in.
#include <cstring>

#include "launcher/commands.h"
#include "launcher/environment.h"
#include "launcher/exit_codes.h"
#include "launcher/options.h"
#include "launcher/profile_file.h"
#include "launcher/run.h"

int main(int argc, char** argv) {
  using namespace oncelatch::launcher;
  bool light = argc >= 2 && (std::strcmp(argv[1], "exec") == 0 || std::strcmp(argv[1], "why") == 0);
  if (light) return become_oncelatch(argc, argv, caller_environment());
  ParsedCommand parsed = parse_command_line(argc, argv);
  if (parsed.exit_now) return *parsed.exit_now;
  std::vector<std::string> environment = caller_environment();
  switch (parsed.command) {
    case Command::run:
      return run(parsed.run, std::move(environment));
    case Command::attach:
      return attach(parsed.id, std::move(environment));
    case Command::approvals_list:
      return approvals_list(parsed.json, environment);
    case Command::approvals_accept:
      return approvals_answer(parsed.id, true, environment);
    case Command::approvals_decline:
      return approvals_answer(parsed.id, false, environment);
    case Command::audit_list:
      return audit_list(parsed.json, parsed.id, parsed.most, environment);
    case Command::audit_verify:
      return audit_verify(environment);
    case Command::doctor:
      return doctor(parsed.json);
    case Command::worktree:
      return worktree(parsed.worktree, environment);
    case Command::changes:
      return changes(parsed.changes, environment);
    case Command::demo:
      return demo(parsed.watch, environment);
  }
  return kExitLauncher;
}
