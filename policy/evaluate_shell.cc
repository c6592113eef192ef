// Shell commands: allow by the strict grammar, ask and deny by the search.
#include <algorithm>
#include <map>
#include <utility>

#include "policy/evaluate.h"
#include "policy/matching.h"
#include "policy/program_risk.h"
#include "policy/program_tables.h"
#include "policy/shell_grammar.h"
#include "policy/shell_search.h"
#include "policy/unwrap.h"
#include "policy/wrapper_tables.h"

namespace oncelatch::policy {
namespace {

constexpr int kDeepest = 16;

const std::map<std::string, std::string, std::less<>>& opaque_texts() {
  static const std::map<std::string, std::string, std::less<>> texts{
      {"empty", "there is no command"},
      {"too-long", "the command is longer than 64 KiB"},
      {"too-many-members", "the command has more than 4,096 members"},
      {"control-character", "a control character, newline and tab included"},
      {"invalid-utf8", "bytes that aren't UTF-8"},
      {"hidden-character", "a character that can't be seen"},
      {"expansion", "'$' outside single quotes"},
      {"substitution", "a backtick outside single quotes"},
      {"redirection", "a redirection, here-document or process substitution"},
      {"background", "'&'"},
      {"group", "'(' or ')'"},
      {"glob", "an unquoted '*', '?', '[' or ']'"},
      {"brace", "an unquoted brace"},
      {"tilde", "an unquoted '~'"},
      {"comment", "an unquoted '#'"},
      {"history", "'!' outside single quotes"},
      {"escape", "a backslash in double quotes or at the end"},
      {"character", "an unquoted character that shells read differently"},
      {"unterminated-quote", "a quote that isn't closed"},
      {"incomplete", "an operator without a command"},
      {"reserved-word", "a reserved word of the shell"},
      {"assignment", "a variable assignment"},
      {"program-name", "a program name with unusual characters"},
      {"readings-differ", "two readings of the command differ"}};
  return texts;
}

// Everything the rules say about the commands that were found, kept by the command of the line.
class ShellEvaluation {
 public:
  ShellEvaluation(DecisionBuilder& builder, std::string_view command)
      : builder_(builder), line_(parse_shell(command)), found_(search_shell(command)) {}

  void run() {
    check_agreement();
    check_directory();
    for (const FoundCommand& command : found_.commands) search(command);
    floors();
    if (line_.opaque.empty()) {
      for (std::size_t index = 0; index < line_.members.size(); ++index) judge_strict(line_.members[index], index);
    } else {
      judge_opaque();
    }
  }

 private:
  // Two parsers that were written apart must read the same members.
  void check_agreement() {
    if (!line_.opaque.empty()) return;
    std::vector<Argv> top;
    for (const FoundCommand& command : found_.commands) {
      if (command.top) top.push_back(command.argv);
    }
    if (found_.cut || top == line_.members) return;
    line_.opaque = "readings-differ";
    line_.members.clear();
  }

  // After cd a relative program is a file that no rule has named.
  void check_directory() {
    bool changed = false;
    for (const Argv& argv : line_.members) {
      const std::string& program = argv.front();
      if (changed && program.front() != '/' && program.find('/') != std::string::npos) {
        builder_.floor("directory-changed", Effect::ask, member_text(argv),
                       "which file runs depends on the cd before it");
      }
      changed = changed || program == "cd" || program == "pushd" || program == "popd";
    }
  }

  void raise(std::size_t root, Effect effect) {
    Effect& severity = severity_[root];
    severity = std::max(severity, effect);
  }

  void search(const FoundCommand& command) {
    const std::string shown = member_text(command.argv);
    for (const Rule& rule : builder_.rules()) {
      if (rule.effect == Effect::allow) continue;
      if (covers(rule, Capability::shell) && command_touched(rule, command.argv)) touch(rule, command, shown);
      if (covers(rule, Capability::fs_read) && !is_for_all(rule) && touches_file(rule, command, Capability::fs_read)) {
        touch(rule, command, shown);
      }
      if (covers(rule, Capability::fs_write) && !is_for_all(rule) &&
          touches_file(rule, command, Capability::fs_write)) {
        touch(rule, command, shown);
      }
    }
    builtin_floors(command, shown);
  }

  void touch(const Rule& rule, const FoundCommand& command, const std::string& shown) {
    builder_.rule(rule, shown);
    builder_.effect(rule.effect);
    raise(command.root, rule.effect);
  }

  bool touches_path(const Rule& rule, std::string_view word) const {
    return !word.empty() && path_touched(rule, path_subject(word, builder_.facts()), Case::exact);
  }

  // A rule about files holds for the words of a command and its redirections too.
  bool touches_file(const Rule& rule, const FoundCommand& command, Capability capability) const {
    const std::vector<std::string>& targets = capability == Capability::fs_read ? command.reads : command.writes;
    const auto touched = [&](std::string_view word) { return touches_path(rule, word); };
    if (std::any_of(targets.begin(), targets.end(), touched)) return true;
    if (command.argv.empty()) return false;
    const std::string_view program = program_name(command.argv.front());
    const bool uses = capability == Capability::fs_read ? !only_prints(program) : writes_operands(program);
    if (!uses) return false;
    return std::any_of(command.argv.begin() + 1, command.argv.end(), [&](std::string_view word) {
      const std::size_t equals = word.find('=');
      const bool attached = word.size() > 2 && word.front() == '-' && word[1] != '-';
      return touched(word) || (equals != std::string_view::npos && touched(word.substr(equals + 1))) ||
             (attached && touched(word.substr(2))) || (word.substr(0, 1) == "@" && touched(word.substr(1)));
    });
  }

  void builtin_floors(const FoundCommand& command, const std::string& shown) {
    for (const std::string& assignment : command.assignments) {
      if (!is_loader_variable(assignment)) continue;
      builder_.floor("loader-variable", Effect::deny, member_text({assignment}),
                     "the variable makes programs load other code");
      raise(command.root, Effect::deny);
    }
    if (command.argv.empty() || !is_state_changing_builtin(command.argv.front())) return;
    builder_.floor("state-changing-builtin", Effect::ask, shown, "it changes what later commands do");
    raise(command.root, Effect::ask);
  }

  void floors() {
    if (found_.cut)
      builder_.floor("search-limit", Effect::ask, {}, "the command is too large or too deep to be searched");
    if (line_.opaque.empty()) return;
    const auto text = opaque_texts().find(line_.opaque);
    builder_.floor(
        "opaque-shell", Effect::ask, {},
        "outside the strict grammar (" + line_.opaque + "): " + (text == opaque_texts().end() ? "" : text->second));
  }

  void judge_strict(const Argv& argv, std::size_t index) {
    const auto severe = severity_.find(index);
    const bool allowed = allow(argv, argv, index, 0);
    Effect effect = severe == severity_.end() ? Effect::allow : severe->second;
    if (!allowed) {
      const bool risky = std::exchange(risky_, false);
      if (severe == severity_.end() && !risky) builder_.no_rule(member_text(argv));
      const Effect unmatched = severe == severity_.end() && !risky ? builder_.default_effect() : Effect::ask;
      effect = std::max(effect, unmatched);
      builder_.effect(effect);
    }
    builder_.effect(effect);
    builder_.member(argv, effect);
  }

  // True when some rule allows the command, or the command that a transparent wrapper runs.
  bool allow(const Argv& argv, const Argv& member, std::size_t root, int depth) {
    const Rule* risky = nullptr;
    const WildcardGuard guard = wildcard_guard(argv);
    for (const Rule& rule : builder_.rules()) {
      if (rule.effect != Effect::allow || !covers(rule, Capability::shell)) continue;
      const Allowing allowing = command_allowed(rule, argv, guard);
      if (allowing == Allowing::no || excluded(rule, root)) continue;
      if (allowing == Allowing::but_for_a_risk && risky == nullptr) risky = &rule;
      if (allowing != Allowing::yes) continue;
      builder_.rule(rule, member_text(member));
      risky_ = false;
      return true;
    }
    if (risky != nullptr) pending_ = risky;
    const Unwrapped inner = unwrap(argv);
    const bool bare = argv.front().find('/') == std::string::npos;  // ./timeout is another program
    if (bare && inner.transparent && depth < kDeepest) {
      const Argv command(argv.begin() + static_cast<std::ptrdiff_t>(inner.starts.front()), argv.end());
      if (allow(command, member, root, depth + 1)) return true;
    }
    if (depth == 0 && pending_ != nullptr) risk_floor(member, *std::exchange(pending_, nullptr));
    return false;
  }

  // The exclude of a rule holds for every reading of the command.
  bool excluded(const Rule& rule, std::size_t root) const {
    return !rule.exclude.empty() &&
           std::any_of(found_.commands.begin(), found_.commands.end(), [&](const FoundCommand& command) {
             return command.root == root && command_excluded(rule, command.argv);
           });
  }

  void risk_floor(const Argv& member, const Rule& rule) {
    risky_ = true;
    builder_.floor(
        "executes-other-programs", Effect::ask, member_text(member),
        "rule " + rule.id + " matches only by a '*' that stands for a word that runs a program or writes a file");
  }

  // What can be seen of an opaque line; nothing in it is allowed.
  void judge_opaque() {
    bool seen = false;
    for (const FoundCommand& command : found_.commands) {
      if (!command.top || command.argv.empty()) continue;
      seen = true;
      const auto severe = severity_.find(command.root);
      Effect effect = std::max(Effect::ask, severe == severity_.end() ? Effect::ask : severe->second);
      if (severe == severity_.end() && builder_.default_effect() == Effect::deny && !known(command.argv)) {
        builder_.no_rule(member_text(command.argv));
        effect = Effect::deny;
      }
      builder_.effect(effect);
      builder_.member(command.argv, effect);
    }
    if (!seen) builder_.no_rule({});
  }

  bool known(const Argv& argv) const {
    return std::any_of(builder_.rules().begin(), builder_.rules().end(), [&](const Rule& rule) {
      return rule.effect == Effect::allow && covers(rule, Capability::shell) &&
             command_allowed(rule, argv, wildcard_guard(argv)) != Allowing::no;
    });
  }

  DecisionBuilder& builder_;
  ShellLine line_;
  FoundCommands found_;
  std::map<std::size_t, Effect> severity_;
  const Rule* pending_ = nullptr;
  bool risky_ = false;
};

}  // namespace

void evaluate_shell(DecisionBuilder& builder, std::string_view command) {
  ShellEvaluation(builder, command).run();
}

}  // namespace oncelatch::policy
