#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "base/untrusted.h"
#include "elicitation/tmux_server.h"

namespace oncelatch::elicitation {

namespace {

constexpr int least_major = 3;
constexpr int least_minor = 3;
constexpr std::string_view install = "install tmux 3.3 or later (Debian: apt-get install tmux)";

// "tmux 3.3a" -> 3, 3, "3.3a"; "tmux next-3.5" too.
bool read_version(std::string_view text, TmuxProgram* tmux) {
  const std::size_t digit = text.find_first_of("0123456789");
  if (text.substr(0, 5) != "tmux " || digit == std::string_view::npos) return false;
  text.remove_prefix(digit);
  text = text.substr(0, text.find_first_of(" \n"));
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, tmux->major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return false;
  if (std::from_chars(major.ptr + 1, end, tmux->minor).ec != std::errc{}) return false;
  tmux->version = text;
  return true;
}

}  // namespace

Result<TmuxProgram> find_tmux() {
  TmuxProgram tmux;
  Result<std::string> path = find_system_program("tmux");
  if (!path) return fail("tmux", "tmux", "not found in the system's directories", std::string(install));
  tmux.path = *path;
  Spawn spawn;
  spawn.path = tmux.path;
  spawn.argv = {"tmux", "-V"};
  spawn.environment = {"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"};
  const Output output = TRY(run_bounded(std::move(spawn), 4096, std::chrono::seconds(5)));
  if (output.status.shell_code() != 0 || !read_version(output.out, &tmux)) {
    return fail("tmux", tmux.path, "its version can't be read: " + escape_for_display(output.out, 80),
                std::string(install));
  }
  if (std::pair(tmux.major, tmux.minor) < std::pair(least_major, least_minor)) {
    return fail("tmux", tmux.path, "version " + escape_for_display(tmux.version, 20) + " is too old",
                std::string(install));
  }
  return tmux;
}

std::vector<std::string> attach_argv(const TmuxProgram& tmux, const std::string& directory) {
  return {tmux.path, "-N", "-S", directory + "/tmux.sock", "-f", "/dev/null", "-u", "attach-session", "-t", "main"};
}

std::vector<std::string> attach_environment(const std::vector<std::string>& environment) {
  static constexpr std::array<std::string_view, 12> allowed{"COLORTERM", "HOME",         "LANG",   "LC_ALL",
                                                            "LC_CTYPE",  "LOGNAME",      "PATH",   "SHELL",
                                                            "TERM",      "TERM_PROGRAM", "TMPDIR", "USER"};
  std::vector<std::string> result;
  for (const std::string& entry : environment) {
    const std::size_t equal = entry.find('=');
    if (equal == std::string::npos || equal + 1 == entry.size()) continue;
    const std::string_view name = std::string_view(entry).substr(0, equal);
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) result.push_back(entry);
  }
  return result;
}

}  // namespace oncelatch::elicitation
