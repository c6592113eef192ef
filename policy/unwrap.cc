#include "policy/unwrap.h"

#include <algorithm>

#include "policy/wrapper_tables.h"

namespace oncelatch::policy {
namespace {

bool has_letter(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

// One pass over a wrapper's own options.
class OptionReader {
 public:
  OptionReader(const Wrapper& wrapper, const Argv& argv) : wrapper_(wrapper), argv_(argv) {}

  Unwrapped run() && {
    while (at_ < argv_.size() && option()) {
    }
    while (wrapper_.assignments && at_ < argv_.size() && is_assignment(argv_[at_])) {
      result_.assignments.push_back(argv_[at_++]);
    }
    for (unsigned own = 0; own < wrapper_.operands && at_ < argv_.size(); ++own) ++at_;
    add_start(at_);
    if (wrapper_.name == "coproc") add_start(at_ + 1);  // coproc NAME command
    late_texts();
    result_.wrapper = true;
    result_.transparent = wrapper_.transparent && result_.known && result_.starts.size() == 1;
    return std::move(result_);
  }

 private:
  // False when argv[at] is no option.
  bool option() {
    const std::string& word = argv_[at_];
    if (word == "--") {
      ++at_;
      return false;
    }
    if (word == "-") {  // env's and su's own option
      ++at_;
      return true;
    }
    if (word.empty() || word.front() != '-') return false;
    if (word.compare(0, 2, "--") == 0) {
      long_option(word);
    } else {
      letters(word);
    }
    return true;
  }

  void long_option(const std::string& word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(2, equals - 2);
    const bool attached = equals < word.size();
    if (has_word(wrapper_.text_options, name)) return text_value(attached ? equals + 1 : word.size(), word);
    const bool value = has_word(wrapper_.value_options, name);
    if (!value && !has_word(wrapper_.flag_options, name)) unknown();
    at_ += value && !attached ? 2 : 1;
  }

  void letters(const std::string& word) {
    for (std::size_t index = 1; index < word.size(); ++index) {
      if (has_letter(wrapper_.text_letters, word[index])) return text_value(index + 1, word);
      if (has_letter(wrapper_.value_letters, word[index])) {
        at_ += index + 1 < word.size() ? 1 : 2;
        return;
      }
      if (!has_letter(wrapper_.flag_letters, word[index])) {
        unknown();
        break;
      }
    }
    ++at_;
  }

  void text_value(std::size_t from, const std::string& word) {
    if (from >= word.size()) ++at_;
    if (at_ < argv_.size()) {
      result_.texts.push_back(from < word.size() ? word.substr(from) : argv_[at_]);
      result_.text_words.push_back(at_);
    }
    ++at_;
  }

  // Options with a shell text may stand behind the operands: su USER -c TEXT.
  void late_texts() {
    for (std::size_t at = at_; at + 1 < argv_.size(); ++at) {
      const std::string& word = argv_[at];
      const bool letter = word.size() == 2 && word.front() == '-' && has_letter(wrapper_.text_letters, word[1]);
      const bool name = word.compare(0, 2, "--") == 0 && has_word(wrapper_.text_options, word.substr(2));
      if (!letter && !name) continue;
      result_.texts.push_back(argv_[at + 1]);
      result_.text_words.push_back(at + 1);
    }
  }

  // The next word may be the option's value.
  void unknown() {
    result_.known = false;
    add_start(at_ + 2);
    add_start(at_ + 2 + wrapper_.operands);
  }

  void add_start(std::size_t start) {
    if (start >= argv_.size()) return;
    if (std::find(result_.starts.begin(), result_.starts.end(), start) == result_.starts.end()) {
      result_.starts.push_back(start);
    }
  }

  const Wrapper& wrapper_;
  const Argv& argv_;
  std::size_t at_ = 1;
  Unwrapped result_;
};

std::string joined(const Argv& argv, std::size_t from) {
  std::string text;
  for (std::size_t at = from; at < argv.size(); ++at) {
    if (at != from) text += ' ';
    text += argv[at];
  }
  return text;
}

// The text after a -c cluster is the first operand behind it; the next one is searched too.
Unwrapped unwrap_shell(const Argv& argv) {
  Unwrapped result;
  result.wrapper = true;
  bool text_follows = false;
  bool operand_seen = false;
  for (std::size_t at = 1; at < argv.size(); ++at) {
    const std::string& word = argv[at];
    const bool option = word.size() > 1 && (word.front() == '-' || word.front() == '+');
    if (option && !operand_seen) {
      const bool cluster = word.front() == '-' && word[1] != '-';
      if (cluster && has_letter(word, 'c')) text_follows = true;
      if (cluster && has_letter(word, 's')) result.reads_commands = true;
      if (word == "-o" || word == "-O" || word == "+o" || word == "+O" || word == "--rcfile" || word == "--init-file")
        ++at;
      continue;
    }
    if (is_standard_input(word)) result.reads_commands = true;
    operand_seen = true;
    if (!text_follows || result.texts.size() == 2) break;
    result.texts.push_back(word);
    result.text_words.push_back(at);
  }
  result.reads_commands = result.reads_commands || !operand_seen;
  return result;
}

Unwrapped unwrap_builtin(const Argv& argv) {
  Unwrapped result;
  const std::string_view name = argv.front();
  if (name == "eval" && argv.size() > 1) result.texts.push_back(joined(argv, 1));
  if (name == "trap" && argv.size() > 1) {
    for (std::size_t at = 1; at < argv.size(); ++at) result.texts.push_back(argv[at]);
  }
  if (name == "alias") {
    for (std::size_t at = 1; at < argv.size(); ++at) {
      const std::size_t equals = argv[at].find('=');
      if (equals != std::string::npos) result.texts.push_back(argv[at].substr(equals + 1));
    }
  }
  result.wrapper = !result.texts.empty();
  return result;
}

// find's -exec family: the command ends at ';' or '+', which the scanner of the words doesn't need to know.
Unwrapped unwrap_find(const Argv& argv) {
  Unwrapped result;
  for (std::size_t at = 1; at + 1 < argv.size(); ++at) {
    const std::string& word = argv[at];
    if (word == "-exec" || word == "-execdir" || word == "-ok" || word == "-okdir") result.starts.push_back(at + 1);
  }
  result.wrapper = !result.starts.empty();
  return result;
}

}  // namespace

Unwrapped unwrap(const Argv& argv) {
  if (argv.empty()) return {};
  const std::string_view program = program_name(argv.front());
  if (is_shell(program)) return unwrap_shell(argv);
  if (program == "find") return unwrap_find(argv);
  const Wrapper* wrapper = find_wrapper(program);
  if (wrapper == nullptr) return unwrap_builtin(argv);
  Unwrapped result = OptionReader(*wrapper, argv).run();
  result.reads_commands = program == "xargs" || program == "parallel";
  if (program == "parallel") {
    const auto list = std::find(argv.begin(), argv.end(), ":::");
    if (list != argv.end() && list + 1 != argv.end())
      result.starts.push_back(static_cast<std::size_t>(list + 1 - argv.begin()));
  }
  const bool by_shell = program == "watch" || program == "ssh" || program == "parallel";
  if (by_shell && !result.starts.empty()) result.texts.push_back(joined(argv, result.starts.back()));
  return result;
}

std::size_t subcommand_index(const Argv& argv) {
  const GlobalOptions* globals = argv.empty() ? nullptr : find_global_options(program_name(argv.front()));
  std::size_t at = 1;
  while (at < argv.size() && argv[at].size() > 1 && (argv[at].front() == '-' || argv[at].front() == '+')) {
    const std::string& word = argv[at];
    const bool long_name = word.compare(0, 2, "--") == 0;
    const bool separate =
        globals != nullptr && (long_name ? has_word(globals->value_options, word.substr(2))
                                         : word.size() == 2 && has_letter(globals->value_letters, word[1]));
    at += separate ? 2 : 1;
  }
  return std::min(at, argv.size());
}

Argv without_global_options(const Argv& argv) {
  if (argv.empty() || find_global_options(program_name(argv.front())) == nullptr) return argv;
  Argv plain{argv.front()};
  const auto first = argv.begin() + static_cast<std::ptrdiff_t>(subcommand_index(argv));
  plain.insert(plain.end(), first, argv.end());
  return plain;
}

bool is_standard_input(std::string_view word) {
  return word == "-" || word == "/dev/stdin" || word == "/dev/fd/0" || word == "/proc/self/fd/0";
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  std::string_view name = word.substr(0, equals);
  if (name.back() == '+') name.remove_suffix(1);
  name = name.substr(0, name.find('['));
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace oncelatch::policy
