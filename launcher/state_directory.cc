#include "launcher/state_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/exec/environment.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "state";

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

Result<Fd> open_or_make(int parent, const std::string& name, const std::string& path) {
  Result<Fd> made = make_directory(parent, name, 0700);
  if (made || made.error().errno_value != EEXIST) return made;
  Fd directory = TRY(open_beneath(parent, name, O_RDONLY | O_DIRECTORY));
  if (Status check = check_private_directory(directory.get(), path); !check)
    return fail(kStage, shown(path), check.error().what, "make it yours alone: chmod 700");
  return directory;
}

// ~/.local/state may not exist yet.
Result<Fd> open_state(const std::string& path) {
  std::string made;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    made = path.substr(0, end);
    if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST && errno != EACCES && errno != EROFS)
      return fail_errno(kStage, shown(made), errno, "set XDG_STATE_HOME to a directory of yours");
  }
  Result<Fd> opened = open_directory(path);
  if (!opened)
    return fail_errno(kStage, shown(path), opened.error().errno_value, "set XDG_STATE_HOME to a directory of yours");
  return opened;
}

Result<std::string> state_path(const std::vector<std::string>& environment) {
  const std::string state = value_of(environment, "XDG_STATE_HOME");
  if (!state.empty() && state[0] == '/') return state;
  const std::string home = value_of(environment, "HOME");
  if (home.empty() || home[0] != '/')
    return fail(kStage, "$HOME", "neither XDG_STATE_HOME nor HOME names a directory", "set one of them");
  return home + "/.local/state";
}

}  // namespace

Result<StateDirectory> open_state_directory(const std::vector<std::string>& environment, const std::string& name) {
  const std::string state = TRY(state_path(environment));
  Fd directory = TRY(open_state(state));
  Fd own = TRY(open_or_make(directory.get(), "oncelatch", state + "/oncelatch"));
  StateDirectory opened{.directory = {}, .path = state + "/oncelatch/" + name};
  opened.directory = TRY(open_or_make(own.get(), name, opened.path));
  return opened;
}

}  // namespace oncelatch::launcher
