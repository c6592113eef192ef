#include "elicitation/tmux_options.h"

#include <unistd.h>

#include <array>
#include <string_view>

#include "elicitation/tmux_control.h"

namespace oncelatch::elicitation {

namespace {

struct Option {
  const char* scope;  // -s server, -g session, -gw window
  const char* name;
  const char* value;
};

constexpr std::array<Option, 39> options{{
    {"-s", "set-clipboard", "off"},
    {"-s", "extended-keys", "on"},
    {"-s", "escape-time", "0"},
    {"-s", "focus-events", "on"},
    {"-s", "command-alias", ""},
    {"-s", "message-limit", "50"},
    {"-s", "history-file", ""},
    {"-s", "editor", "/bin/false"},
    {"-s", "buffer-limit", "1"},
    {"-g", "default-shell", "/bin/false"},
    {"-g", "default-command", ""},
    {"-g", "prefix", "C-]"},
    {"-g", "prefix2", "None"},
    {"-g", "mouse", "off"},
    {"-g", "set-titles", "off"},
    {"-g", "update-environment", ""},
    {"-g", "history-limit", "50000"},
    {"-g", "detach-on-destroy", "on"},
    {"-g", "destroy-unattached", "off"},
    {"-g", "lock-after-time", "0"},
    {"-g", "lock-command", ""},
    {"-g", "visual-bell", "off"},
    {"-g", "display-time", "750"},
    {"-g", "status", "on"},
    {"-g", "status-interval", "0"},
    {"-g", "status-right", ""},
    {"-gw", "window-status-format", ""},
    {"-gw", "window-status-current-format", ""},
    {"-g", "status-left-length", "200"},
    {"-g", "status-right-length", "100"},
    {"-gw", "allow-passthrough", "off"},
    {"-gw", "allow-rename", "off"},
    {"-gw", "automatic-rename", "off"},
    {"-gw", "alternate-screen", "on"},
    {"-gw", "remain-on-exit", "off"},
    {"-gw", "window-size", "latest"},
    {"-gw", "monitor-activity", "off"},
    {"-gw", "monitor-bell", "on"},
    {"-gw", "pane-border-status", "off"},
}};

// The newest terminal description this machine has; with none of them programs fall back to what they know.
const char* terminal_name() {
  for (const char* name : {"tmux-256color", "screen-256color"}) {
    for (const char* root : {"/usr/share/terminfo/", "/lib/terminfo/", "/etc/terminfo/"}) {
      const std::string path = std::string(root) + name[0] + "/" + name;
      if (::access(path.c_str(), R_OK) == 0) return name;
    }
  }
  return "screen";
}

class ArgumentList {
 public:
  void command(const std::vector<std::string>& words) {
    if (!list_.empty()) list_.emplace_back(";");
    for (const std::string& word : words) list_.push_back(tmux_argument(word));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

std::vector<std::string> new_session(const TmuxSetup& setup) {
  std::vector<std::string> words{
      "new-session", "-d", "-s", "main", "-x", std::to_string(setup.columns), "-y", std::to_string(setup.rows)};
  // A single word would be given to a shell.
  if (setup.pane_argv.size() == 1) words.emplace_back("/usr/bin/env");
  words.insert(words.end(), setup.pane_argv.begin(), setup.pane_argv.end());
  return words;
}

}  // namespace

std::string escaped_status(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '#' || c == '%') result += c;
    result += c;
  }
  return result;
}

std::vector<std::string> first_commands(const TmuxSetup& setup) {
  ArgumentList list;
  for (const Option& option : options) list.command({"set-option", option.scope, option.name, option.value});
  list.command({"set-option", "-s", "default-terminal", terminal_name()});
  list.command({"set-option", "-g", "status-left", escaped_status(setup.status_text)});
  for (const char* table : {"root", "prefix", "copy-mode", "copy-mode-vi"})
    list.command({"unbind-key", "-a", "-T", table});
  list.command({"bind-key", "-T", "prefix", "d", "detach-client"});
  list.command(new_session(setup));
  // From here on the server lives exactly as long as its session.
  list.command({"set-option", "-s", "exit-empty", "on"});
  return list.take();
}

}  // namespace oncelatch::elicitation
