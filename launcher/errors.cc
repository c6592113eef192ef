#include "launcher/errors.h"

#include <cerrno>
#include <string_view>

#include "launcher/exit_codes.h"
#include "launcher/messages.h"

namespace oncelatch::launcher {
namespace {

bool is_configuration(std::string_view stage) {
  for (std::string_view one : {"policy", "workspace", "agent", "events", "report", "command line", "json", "yaml",
                               "approvals", "attach", "home", "profile", "worktree", "changes", "state"}) {
    if (stage == one) return true;
  }
  return false;
}

}  // namespace

int exit_code_for(const Error& error) {
  bool program = error.stage == "verify" || error.stage == "agent" || error.stage == "command";
  if (error.errno_value == ENOTSUP && error.stage == "sandbox") return kExitGuarantee;
  if (program && error.errno_value == ENOENT) return kExitNotFound;
  if (program && (error.errno_value == EACCES || error.errno_value == EISDIR)) return kExitNotExecutable;
  if (error.stage == "sandbox" && error.errno_value == ENOEXEC) return kExitNotExecutable;
  return is_configuration(error.stage) ? kExitConfiguration : kExitLauncher;
}

const char* exit_reason_for(const Error& error) {
  switch (exit_code_for(error)) {
    case kExitGuarantee:
      return "guarantee-unavailable";
    case kExitConfiguration:
      return "configuration-refused";
    case kExitNotFound:
      return "not-found";
    case kExitNotExecutable:
      return "not-executable";
    default:
      return "launcher-fault";
  }
}

int report_error(const Error& error) {
  tell(error.message());
  return exit_code_for(error);
}

}  // namespace oncelatch::launcher
