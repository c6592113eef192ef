#include "policy/program_risk.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "policy/program_tables.h"
#include "policy/unwrap.h"
#include "policy/wrapper_tables.h"

namespace oncelatch::policy {
namespace {

constexpr int kDeepest = 16;

// `word` begins with `name`; node takes "--env_file" for "--env-file".
bool begins_with(std::string_view word, std::string_view name) {
  if (word.size() < name.size()) return false;
  return std::equal(name.begin(), name.end(), word.begin(), [](char expected, char character) {
    return character == expected || (expected == '-' && character == '_');
  });
}

// "-word" for "--word".
std::string_view with_one_dash(std::string_view word) {
  return word.substr(0, 2) == "--" ? word.substr(1) : word;
}

// "prefix*" and "*part*".
std::size_t spelled_part(std::string_view word, std::string_view part) {
  part.remove_suffix(1);
  if (part.front() == '*') {
    part.remove_prefix(1);
    const std::size_t at = word.find(part);
    return at == std::string_view::npos ? 0 : at + part.size();
  }
  if (begins_with(word, part)) return part.size();
  const bool one_dash = part.front() == '-' && part.substr(0, 2) != "--";
  return one_dash && word.substr(0, 2) == "--" && begins_with(word.substr(1), part) ? part.size() + 1 : 0;
}

// "-x" inside a cluster of letters.
std::size_t spelled_letter(std::string_view word, char letter, std::string_view value_letters) {
  if (word.size() < 2 || word.front() != '-' || word[1] == '-') return 0;
  for (std::size_t at = 1; at < word.size(); ++at) {
    if (word[at] == letter) return at + 1;
    if (value_letters.find(word[at]) != std::string_view::npos) return 0;
  }
  return 0;
}

// How much of `word` spells the option; 0 when it isn't that option.
std::size_t spelled_option(std::string_view word, std::string_view option, std::string_view value_letters) {
  if (word == option) return word.size();
  if (option == kAnyAssignment) {
    const bool assignment = word.substr(0, 1) != "-" && word.find('=') != std::string_view::npos;
    return assignment ? word.find('=') + 1 : 0;
  }
  if (option.back() == '*') return spelled_part(word, option);
  if (option.front() != '-') return 0;
  const std::string_view name = word.substr(0, word.find('='));
  if (option.substr(0, 2) == "--") {
    const bool abbreviated = name.size() > 2 && name.size() <= option.size() && name.substr(0, 2) == "--" &&
                             begins_with(name, option.substr(0, name.size()));
    return abbreviated ? name.size() : 0;
  }
  if (option.size() > 2 || value_letters == kNoClusters) return with_one_dash(name) == option ? name.size() : 0;
  return spelled_letter(word, option[1], value_letters);
}

void require(WildcardGuard& guard, std::size_t index, std::size_t length) {
  guard.spelled[index] = std::max(guard.spelled[index], length);
}

void require_whole_word(WildcardGuard& guard, const Argv& argv, std::size_t index) {
  require(guard, index, std::max<std::size_t>(argv[index].size(), 1));
}

void add_row(WildcardGuard& guard, const Argv& argv, const RiskyOptions& row, std::size_t subcommand) {
  std::size_t last = argv.size();
  if (row.subcommand == "<global>") {
    last = subcommand;
  } else if (!row.subcommand.empty() && (subcommand >= argv.size() || argv[subcommand] != row.subcommand)) {
    return;
  }
  for (std::string_view rest = row.options; !rest.empty();) {
    const std::string_view option = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(option.size() + 1, rest.size()));
    if (option.empty()) continue;
    for (std::size_t at = 1; at < last; ++at) {
      const std::size_t length = spelled_option(argv[at], option, row.value_letters);
      if (length != 0) require(guard, at, length);
    }
  }
}

bool is_option(std::string_view word) {
  return word.size() > 1 && (word.front() == '-' || word.front() == '+');
}

// p, d, q, = with plain addresses, or s/…/…/ with flags that neither run nor write.
bool is_plain_sed_script(std::string_view script) {
  constexpr std::string_view kAddress = "0123456789,$ ";
  script.remove_prefix(std::min(script.find_first_not_of(kAddress), script.size()));
  if (script.size() == 1) return std::string_view("pdqPDn=").find(script.front()) != std::string_view::npos;
  if (script.size() < 4 || script.front() != 's') return false;
  const char delimiter = script[1];
  if (std::isalnum(static_cast<unsigned char>(delimiter)) != 0 || delimiter == '\\' || delimiter == ' ') return false;
  int delimiters = 0;
  std::size_t at = 1;
  for (; at < script.size() && delimiters < 3; ++at) {
    if (script[at] == '\n') return false;
    if (script[at] == '\\') {
      ++at;
    } else if (script[at] == delimiter) {
      ++delimiters;
    }
  }
  if (delimiters < 3) return false;
  return script.substr(at).find_first_not_of("gpIi0123456789") == std::string_view::npos;
}

bool is_plain_awk_program(std::string_view program) {
  for (const std::string_view risky : {"system", "|", ">", "getline", "@", "ENVIRON"}) {
    if (program.find(risky) != std::string_view::npos) return false;
  }
  return true;
}

// Values of -e, else the first operand.
std::vector<std::size_t> sed_scripts(const Argv& argv, WildcardGuard& guard) {
  std::vector<std::size_t> scripts;
  std::size_t operand = 0;
  for (std::size_t at = 1; at < argv.size(); ++at) {
    const std::string& word = argv[at];
    if (!is_option(word)) {
      if (operand == 0) operand = at;
    } else if (word == "-e" || word == "--expression" || word == "-ne" || word == "-Ee" || word == "-re") {
      if (at + 1 < argv.size()) scripts.push_back(++at);
    } else if (word.find('e') != std::string::npos && word.front() == '-') {
      // -e with its value attached, or a cluster or long option that may hold it.
      const bool harmless =
          word == "--regexp-extended" || word == "--quiet" || word == "--silent" || word == "--zero-terminated";
      if (!harmless) require_whole_word(guard, argv, at);
    }
  }
  if (scripts.empty() && operand != 0) scripts.push_back(operand);
  return scripts;
}

void add_program_text(WildcardGuard& guard, const Argv& argv, std::string_view program) {
  if (program == "sed") {
    for (const std::size_t at : sed_scripts(argv, guard)) {
      if (!is_plain_sed_script(argv[at])) require_whole_word(guard, argv, at);
    }
    return;
  }
  for (std::size_t at = 1; at < argv.size(); ++at) {
    if (!is_plain_awk_program(argv[at])) require_whole_word(guard, argv, at);
  }
}

void add_operands(WildcardGuard& guard, const Argv& argv, const RiskyOperands& row) {
  if (row.which == Operands::program_text) return add_program_text(guard, argv, row.program);
  std::size_t seen = 0;
  for (std::size_t at = 1; at < argv.size(); ++at) {
    const bool operand = !is_option(argv[at]);
    if (row.which == Operands::any || (operand && ++seen > 1)) require_whole_word(guard, argv, at);
  }
}

// Without a program file the program text comes from the input.
void add_program_input(WildcardGuard& guard, const Argv& argv) {
  bool file = false;
  for (std::size_t at = 1; at < argv.size(); ++at) {
    if (is_standard_input(argv[at])) require_whole_word(guard, argv, at);
    if (!is_option(argv[at]) || argv[at] == "--version" || argv[at] == "--help") file = true;
  }
  if (!file) guard.whole = true;
}

// tar's old form: letters without a dash.
void add_tar_bundle(WildcardGuard& guard, const Argv& argv) {
  if (!is_option(argv[1]) && argv[1].find_first_of("IF") != std::string::npos) require_whole_word(guard, argv, 1);
}

void add_inner(WildcardGuard& guard, const Argv& argv, int depth);

void add_command(WildcardGuard& guard, const Argv& argv, int depth) {
  const std::string_view name = program_name(argv.front());
  const std::string_view program = without_version(name);
  const std::size_t subcommand = subcommand_index(argv);
  for (const RiskyOptions& row : risky_options()) {
    if (has_word(row.programs, program) || has_word(row.programs, name)) add_row(guard, argv, row, subcommand);
  }
  if (const RiskyOperands* row = risky_operands(program); row != nullptr) add_operands(guard, argv, *row);
  if (program == "tar" && argv.size() > 1) add_tar_bundle(guard, argv);
  if (is_interpreter(program) || is_shell(name)) add_program_input(guard, argv);
  add_inner(guard, argv, depth);
}

// The command a wrapper runs must be named, and its own risky words too.
void add_inner(WildcardGuard& guard, const Argv& argv, int depth) {
  const Unwrapped inner = unwrap(argv);
  if (!inner.wrapper) return;
  if (!inner.known || depth >= kDeepest) guard.whole = true;
  for (const std::size_t at : inner.text_words) {
    require_whole_word(guard, argv, at);
    if (at > 1) require_whole_word(guard, argv, at - 1);
  }
  for (const std::size_t start : inner.starts) {
    require_whole_word(guard, argv, start);
    if (depth >= kDeepest) continue;
    WildcardGuard rest;
    const Argv command(argv.begin() + static_cast<std::ptrdiff_t>(start), argv.end());
    rest.spelled.assign(command.size(), 0);
    add_command(rest, command, depth + 1);
    guard.whole = guard.whole || rest.whole;
    for (std::size_t at = 0; at < command.size(); ++at) require(guard, start + at, rest.spelled[at]);
  }
}

}  // namespace

WildcardGuard wildcard_guard(const Argv& argv) {
  WildcardGuard guard;
  guard.spelled.assign(argv.size(), 0);
  if (!argv.empty()) add_command(guard, argv, 0);
  return guard;
}

}  // namespace oncelatch::policy
