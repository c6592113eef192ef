#include "launcher/exec/options.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/untrusted.h"
#include "base/yaml.h"
#include "launcher/after_run.h"
#include "launcher/exec/page.h"

namespace oncelatch::launcher {

namespace {

constexpr std::uint64_t kLongest = std::uint64_t{366} * 24 * 3600;

std::string shown(std::string_view text) {
  return escape_for_display(text, 200);
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

bool is_variable_name(std::string_view name) {
  auto plain = [](char c) { return c > ' ' && c < 0x7f && c != '='; };
  return !name.empty() && std::all_of(name.begin(), name.end(), plain);
}

// Each returns what is wrong with the value, or nothing.
using Complaint = std::string;

Complaint take_workspace_mode(ExecOptions& options, const std::string& value) {
  if (value != "guard" && value != "overlay") return "write guard or overlay";
  options.overlay = value == "overlay";
  return {};
}

Complaint take_environment(ExecOptions& options, const std::string& value) {
  std::size_t equals = value.find('=');
  if (equals == std::string::npos || !is_variable_name(value.substr(0, equals))) return "write NAME=VALUE";
  options.set_environment.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  return {};
}

Complaint take_pass(ExecOptions& options, const std::string& value) {
  std::size_t star = value.find('*');
  bool pattern = star != std::string::npos;
  if (!is_variable_name(value) || (pattern && (star == 0 || star + 1 != value.size())))
    return "write a variable's name, or the start of names followed by *";
  options.pass_environment.push_back(value);
  return {};
}

Complaint take_toolchains(ExecOptions& options, const std::string& value) {
  options.toolchain_names.clear();
  if (value == "auto") options.toolchains = Toolchains::automatic;
  if (value == "none") options.toolchains = Toolchains::none;
  if (value == "auto" || value == "none") return {};
  options.toolchains = Toolchains::list;
  options.toolchain_names = split(value, ',');
  for (const std::string& name : options.toolchain_names)
    if (name.empty()) return "write auto, none, or names separated by commas";
  return {};
}

constexpr const char* kBothLoopbacks = "with --net ports: the loopback is the host's already";

Complaint take_ports(ExecOptions& options, const std::string& list) {
  if (options.allow_loopback) return kBothLoopbacks;
  options.network = sandbox::Network::ports;
  options.ports.clear();
  for (const std::string& part : split(list, ',')) {
    std::optional<std::uint64_t> port = number(part);
    if (!port || *port == 0 || *port > 65535) return "a port is a number from 1 to 65535";
    options.ports.push_back(static_cast<std::uint16_t>(*port));
  }
  constexpr std::size_t kMostPorts = 64;
  if (options.ports.size() > kMostPorts) return "at most 64 ports";
  return {};
}

Complaint take_network(ExecOptions& options, const std::string& value) {
  if (value.rfind("ports:", 0) == 0) return take_ports(options, value.substr(6));
  options.ports.clear();
  if (value == "none") {
    options.network = sandbox::Network::none;
  } else if (value == "loopback") {
    options.network = sandbox::Network::loopback;
  } else {
    return "write none, loopback or ports:443,…";
  }
  return {};
}

Complaint take_allow(ExecOptions& options, const std::string& value) {
  if (value == "ptrace") {
    options.allow_ptrace = true;
    return {};
  }
  if (value != "loopback") return "write ptrace or loopback";
  if (options.network == sandbox::Network::ports) return kBothLoopbacks;
  options.allow_loopback = true;
  options.network = sandbox::Network::loopback;
  return {};
}

struct LimitRow {
  std::string_view name;
  std::optional<std::uint64_t> ExecOptions::*amount;
  std::uint64_t least;
  std::uint64_t most;
};

constexpr LimitRow kLimits[] = {
    {"memory", &ExecOptions::memory, std::uint64_t{16} << 20, std::uint64_t{1} << 50},
    {"processes", &ExecOptions::processes, 8, std::uint64_t{1} << 22},  // kernel: PID_MAX_LIMIT
    {"files", &ExecOptions::open_files, 16, std::uint64_t{1} << 20},
    {"file-size", &ExecOptions::file_size, 4096, std::uint64_t{1} << 60},
    {"tmp", &ExecOptions::temporary_bytes, 4096, std::uint64_t{1} << 50},
};

Complaint take_limit(ExecOptions& options, const std::string& value) {
  std::size_t equals = value.find('=');
  std::string key = value.substr(0, equals);
  std::uint64_t amount = equals == std::string::npos ? 0 : parse_size(value.substr(equals + 1)).value_or(0);
  for (const LimitRow& row : kLimits) {
    if (key != row.name) continue;
    if (amount == 0) return "write " + key + "=NUMBER, with k, M, G or T for bytes";
    if (amount < row.least || amount > row.most)
      return "from " + std::to_string(row.least) + " to " + std::to_string(row.most);
    options.*row.amount = amount;
    return {};
  }
  return "write memory=, processes=, files=, file-size= or tmp= and a number";
}

Complaint take_git(ExecOptions& options, const std::string& value) {
  if (value != "any" && value != "own-branch") return "write any or own-branch";
  options.own_branch = value == "own-branch";
  return {};
}

Complaint take_time(ExecOptions& options, const std::string& value) {
  options.seconds = number(value);
  if (!options.seconds || *options.seconds > kLongest) return "write whole seconds, at most a year";
  return {};
}

Complaint take_held(ExecOptions& options, const std::string& value) {
  if (value == "ask") return "nobody can be asked here: only oncelatch run asks; write report or refuse";
  if (value != "report" && value != "refuse") return "write report or refuse";
  options.held = value == "report" ? sandbox::HeldNames::report : sandbox::HeldNames::refuse;
  return {};
}

Complaint take_effect_kind(ExecOptions& options, const std::string& value) {
  if (!is_effect_kind(value)) return "write any, refused, held, reported, or a kind: " + effect_kinds();
  options.fail_on.push_back(value);
  return {};
}

Complaint take_requirement(ExecOptions& options, const std::string& value) {
  constexpr std::uint64_t kMostLayers = 9;
  std::size_t colon = value.find(':');
  std::optional<std::uint64_t> layers = colon == std::string::npos ? 1 : number(value.substr(colon + 1));
  if (colon == 0 || !layers || *layers == 0 || *layers > kMostLayers)
    return "write the name of a guarantee, or NAME:LAYERS with 1 to 9 layers";
  options.required.emplace_back(value.substr(0, colon), static_cast<unsigned>(*layers));
  return {};
}

Complaint take_profile_file(ExecOptions& options, const std::string& value) {
  options.from_file = {value,
                       options.read.size(),
                       options.write.size(),
                       options.deny.size(),
                       options.set_environment.size(),
                       options.pass_environment.size()};
  return {};
}

template <std::vector<std::string> ExecOptions::*Member>
Complaint append(ExecOptions& options, const std::string& value) {
  (options.*Member).push_back(value);
  return {};
}
template <std::string ExecOptions::*Member>
Complaint assign(ExecOptions& options, const std::string& value) {
  options.*Member = value;
  return {};
}

struct OptionRow {
  std::string_view name;
  std::string_view value;  // its name in the help; empty: a switch
  std::string_view help;
  Complaint (*take)(ExecOptions&, const std::string&);
};

constexpr OptionRow kOptions[] = {
    {"--profile", "P", "workstation (default), ci, strict, or a profile of your own: a name or a .yaml file",
     assign<&ExecOptions::profile>},
    {"--workspace", "D", "the directory it may write in (default: the current one)", assign<&ExecOptions::workspace>},
    {"--workspace-mode", "M",
     "guard (default): it works in the workspace, watched by names; overlay: its changes are kept apart until "
     "oncelatch changes promotes them",
     take_workspace_mode},
    {"--env", "K=V", "set a variable", take_environment},
    {"--pass-env", "K", "pass a variable of yours; K* passes all that start so, except those that load code",
     take_pass},
    {"--read", "P", "show a file or directory of the host, read-only", append<&ExecOptions::read>},
    {"--write", "P", "show one, writable", append<&ExecOptions::write>},
    {"--deny", "P", "hide one that would be visible", append<&ExecOptions::deny>},
    {"--toolchains", "LIST", "auto, none, or names: those in your home, read-only", take_toolchains},
    {"--git", "G", "any (default), or own-branch: no branch but the one checked out is moved, no tag, no HEAD",
     take_git},
    {"--net", "N", "none (default), loopback, or ports:443,… of the host's network", take_network},
    {"--allow", "WHAT", "ptrace (of its own children) or loopback", take_allow},
    {"--limit", "K=V", "memory=, processes=, files=, file-size=, tmp=", take_limit},
    {"--time", "S", "seconds until it is ended; exit code 124", take_time},
    {"--report", "F", "write a JSON report to this file", assign<&ExecOptions::report>},
    {"--sarif", "F", "write what changed that runs outside later to this file, as SARIF 2.1.0",
     assign<&ExecOptions::sarif>},
    {"--held", "MODE", "names that act outside later (workflows, package scripts): report, or refuse them", take_held},
    {"--fail-on", "KIND", "exit code 123 where something changed that runs outside later: any, refused, git, ci, …",
     take_effect_kind},
    {"--accept-loss", "NAME", "go on although this machine can't give that guarantee",
     append<&ExecOptions::accepted_losses>},
    {"--require", "NAME[:N]", "refuse to start unless that guarantee is held, by N layers (default: 1)",
     take_requirement},
    {"--explain", "", "say what would be visible, writable and refused, and by which rule; start nothing",
     [](ExecOptions& options, const std::string&) {
       options.explain = true;
       return Complaint();
     }},
    {"--profile-file", "F", "", take_profile_file},  // only a label, from oncelatch-session: not in the help
    {"--help", "", "this text",
     [](ExecOptions& options, const std::string&) {
       options.help = true;
       return Complaint();
     }},
};

Failure wrong(std::string_view what, std::string complaint) {
  return fail("command line", shown(what), std::move(complaint), "oncelatch exec --help");
}

const OptionRow* find_option(std::string_view name) {
  for (const OptionRow& row : kOptions)
    if (row.name == name || (name == "-h" && row.name == "--help")) return &row;
  return nullptr;
}

Failure unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OptionRow& row : kOptions)
    if (!row.help.empty()) names.push_back(row.name);
  std::string near = nearest_word(name, names);
  return wrong(name, near.empty() ? "unknown option" : "unknown option; did you mean " + near + "?");
}

// One option at `index`, which moves on to its value where that is a word of its own.
Status take_option(ExecOptions& options, const std::vector<std::string>& arguments, std::size_t& index) {
  const std::string& word = arguments[index];
  std::size_t equals = word.rfind("--", 0) == 0 ? word.find('=') : std::string::npos;
  std::string name = word.substr(0, equals);
  const OptionRow* row = find_option(name);
  if (row == nullptr) return unknown(name);
  if (row->value.empty() && equals != std::string::npos) return wrong(name, "takes no value");
  std::string value;
  if (!row->value.empty()) {
    const bool ends = index + 1 == arguments.size() || arguments[index + 1] == "--";
    if (equals == std::string::npos && ends) return wrong(name, "needs a value");
    value = equals != std::string::npos ? word.substr(equals + 1) : arguments[++index];
    // An empty value is an unset variable of somebody's script: it must not switch a protection off.
    if (value.empty()) return wrong(name, "its value must not be empty");
  }
  Complaint complaint = row->take(options, value);
  if (!complaint.empty()) return wrong(name + " " + value, complaint);
  return {};
}

}  // namespace

std::optional<std::uint64_t> parse_size(const std::string& text) {
  std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::optional<std::uint64_t> value = number(text.substr(0, digits));
  std::string_view unit = std::string_view(text).substr(digits);
  unsigned shift = 0;
  if (unit == "k" || unit == "K" || unit == "KiB") shift = 10;
  if (unit == "M" || unit == "MiB") shift = 20;
  if (unit == "G" || unit == "GiB") shift = 30;
  if (unit == "T" || unit == "TiB") shift = 40;
  if (!value || (shift == 0 && !unit.empty()) || *value > (UINT64_MAX >> 1 >> shift)) return std::nullopt;
  return *value << shift;
}

Result<ExecOptions> parse_exec_options(const std::vector<std::string>& arguments) {
  ExecOptions options;
  std::size_t index = 0;
  for (; index < arguments.size() && arguments[index] != "--"; ++index) {
    // Options stand before the command, which may be written without "--" when it doesn't look like one.
    if (arguments[index].empty() || arguments[index][0] != '-') break;
    TRY(take_option(options, arguments, index));
  }
  if (index < arguments.size() && arguments[index] == "--") ++index;
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(index), arguments.end());
  if (options.help) return options;
  if (options.command.empty() || options.command[0].empty())
    return wrong("exec", "no command: write it after --, as in: oncelatch exec -- make test");
  return options;
}

std::vector<std::string> without_profile(const std::vector<std::string>& arguments) {
  std::vector<std::string> rest;
  std::size_t index = 0;
  for (; index < arguments.size() && arguments[index] != "--" && arguments[index].rfind('-', 0) == 0; ++index) {
    const std::string& word = arguments[index];
    const OptionRow* row = find_option(word.substr(0, word.find('=')));
    bool value_follows = row != nullptr && !row->value.empty() && word.find('=') == std::string::npos;
    bool dropped = row != nullptr && row->name == "--profile";
    if (!dropped) rest.push_back(word);
    if (!value_follows || index + 1 == arguments.size()) continue;
    ++index;
    if (!dropped) rest.push_back(arguments[index]);
  }
  rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(index), arguments.end());
  return rest;
}

std::string exec_option_lines() {
  Page page(22);
  for (const OptionRow& row : kOptions)
    if (!row.help.empty())
      page.row(std::string(row.name) + (row.value.empty() ? "" : " ") + std::string(row.value), row.help);
  return page.take();
}

std::string exec_help() {
  Page page;
  page.line("Usage: oncelatch exec [OPTIONS] -- COMMAND [ARGUMENT...]\n");
  page.text(
      "Runs any command in the sandbox. It sees the workspace, a private home and /tmp, the system read-only; no "
      "network, no other process, no socket of the host, and none of your variables but the harmless ones.");
  page.title("Options:");
  page.line(exec_option_lines());
  page.text(
      "Exit code: the command's own; 121 a guarantee is missing, 122 refused, 124 time limit, 125 fault, 126 not "
      "executable, 127 not found, 128+n signal (137 memory or processes, 153 file size). --report says which it was.");
  return page.take();
}

}  // namespace oncelatch::launcher
