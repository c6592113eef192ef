// oncelatch: the program people start. `exec` and `why` are done here, by a small static program whose start costs
// less than the C library's; every other command is oncelatch-session's, which takes over with the same arguments.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "launcher/errors.h"
#include "launcher/exec/attempt.h"
#include "launcher/exec/command.h"
#include "launcher/exec/options.h"
#include "launcher/exec/profile.h"
#include "launcher/exec/why.h"
#include "launcher/exit_codes.h"
#include "sandbox/enter.h"

namespace {

using namespace oncelatch;

std::vector<std::string> caller_environment(char** entries) {
  std::vector<std::string> all;
  for (; entries != nullptr && *entries != nullptr; ++entries) all.emplace_back(*entries);
  return all;
}

// Own profiles are YAML, which oncelatch-session reads; it comes back with options in their place.
bool names_own_profile(const std::vector<std::string>& arguments) {
  Result<launcher::ExecOptions> options = launcher::parse_exec_options(arguments);
  return options && !options->help && !options->profile.empty() && launcher::find_profile(options->profile) == nullptr;
}

// The number of a closed stream would go to the next file of ours, and so to the command. What stands there instead
// fails as the closed one would: it can't be read, or can't be written.
bool fill_closed_streams() {
  for (int number : {0, 1, 2}) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    if (::open("/dev/null", (number == 0 ? O_WRONLY : O_RDONLY) | O_NOCTTY) != number) return false;
  }
  return true;
}

int become_session(char** argv) {
  Result<std::string> program = sandbox::find_companion("oncelatch-session");
  if (!program) return launcher::report_error(program.error());
  ::execv(program->c_str(), argv);
  return launcher::report_error(fail_errno("oncelatch", *program, errno, "install oncelatch again").value());
}

}  // namespace

int main(int argc, char** argv) {
  if (!fill_closed_streams())
    return launcher::report_error(
        fail_errno("oncelatch", "standard streams", errno, "open /dev/null for them").value());
  if (argc > 0 && argv[0] == launcher::kAttemptName) return launcher::attempt(argc, argv);
  const std::string_view command = argc < 2 ? "" : argv[1];
  if (command != "exec" && command != "why") return become_session(argv);
  std::vector<std::string> arguments(argv + 2, argv + argc);
  if (names_own_profile(arguments)) return become_session(argv);
  if (command == "why") return launcher::why_command(arguments, caller_environment(environ));
  return launcher::exec_command(arguments, caller_environment(environ));
}
