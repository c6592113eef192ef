#include "launch_options.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace kiro {
namespace {

constexpr std::array<std::string_view, 15> kWithValue = {"--resume-id",    "--model",          "--effort", "--agent",
                                                         "--agent-engine", "--trust-tools",    "--format", "--wrap",
                                                         "--auth-method",  "--output-format",  "--repo",   "-f",
                                                         "--session",      "--delete-session", "--api-key"};
constexpr std::array<std::string_view, 15> kPlain = {"--tui",
                                                     "--no-interactive",
                                                     "--trust-all-tools",
                                                     "-a",
                                                     "--classic",
                                                     "--legacy-ui",
                                                     "--v2",
                                                     "--v3",
                                                     "--resume",
                                                     "-v",
                                                     "--require-mcp-startup",
                                                     "--list-models",
                                                     "--help",
                                                     "-h",
                                                     "--verbose"};

template <std::size_t N>
bool known(const std::array<std::string_view, N>& flags, std::string_view flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

void set_plain(LaunchOptions& options, const std::string& flag) {
  using What = LaunchOptions::What;
  if (flag == "--tui") options.tui = true;
  if (flag == "--no-interactive") options.no_interactive = true;
  if (flag == "--trust-all-tools" || flag == "-a") options.trust_all = true;
  if (flag == "--classic" || flag == "--legacy-ui") options.classic = true;
  if (flag == "--v2" || flag == "--v3") options.engine = flag.substr(2);
  if (flag == "--list-models") options.what = What::ListModels;
  if (flag == "--help" || flag == "-h") {
    options.what = options.what == What::Acp ? What::AcpHelp : What::ChatHelp;
  }
}

void set_value(LaunchOptions& options, const std::string& flag, const std::string& value) {
  if (flag == "--resume-id") options.resume_id = value;
  if (flag == "--model") options.model = value;
  if (flag == "--effort") options.effort = value;
  if (flag == "--agent") options.agent = value;
  if (flag == "--agent-engine") options.engine = value;
}

bool read_flag(const std::vector<std::string>& words, std::size_t& at, LaunchOptions& options) {
  const std::string& word = words[at];
  const std::size_t equals = word.find('=');
  const std::string flag = word.substr(0, equals);
  if (known(kPlain, word)) {
    set_plain(options, word);
    return true;
  }
  if (!known(kWithValue, flag)) {
    options.error = "error: unexpected argument '" + flag + "' found";
    return false;
  }
  if (equals != std::string::npos) {
    set_value(options, flag, word.substr(equals + 1));
    return true;
  }
  if (at + 1 >= words.size()) {
    options.error = "error: a value is required for '" + flag + "' but none was supplied";
    return false;
  }
  set_value(options, flag, words[++at]);
  return true;
}

bool read_words(const std::vector<std::string>& words, LaunchOptions& options) {
  bool only_text = false;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (!only_text && words[at] == "--") {
      only_text = true;
    } else if (!only_text && words[at].size() > 1 && words[at][0] == '-') {
      if (!read_flag(words, at, options)) return false;
    } else {
      options.prompt += (options.prompt.empty() ? "" : " ") + words[at];
    }
  }
  if (options.tui && options.engine == "v1") {
    options.error = "error: Conflicting options: --tui cannot be used with --agent-engine=v1.";
    return false;
  }
  return true;
}

}  // namespace

bool read_options(int argc, char** argv, LaunchOptions& options) {
  using What = LaunchOptions::What;
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const std::string command = words.empty() ? "" : words.front();
  if (command == "--version" || command == "-V" || command == "version") {
    options.what = What::Version;
    return true;
  }
  if (command == "whoami") {
    options.what = What::WhoAmI;
    return true;
  }
  if (command == "--help" || command == "-h" || command == "help" || command.empty()) return true;
  if (command != "chat" && command != "acp") {
    options.error = "error: unrecognized subcommand '" + command + "'";
    return false;
  }
  options.what = command == "acp" ? What::Acp : What::Chat;
  words.erase(words.begin());
  return read_words(words, options);
}

}  // namespace kiro
