#include "policy/shell_search.h"

#include <algorithm>
#include <utility>

#include "policy/program_tables.h"
#include "policy/shell_scan.h"
#include "policy/unwrap.h"
#include "policy/wrapper_tables.h"

namespace oncelatch::policy {
namespace {

constexpr int kDeepest = 16;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // scanned in all: texts in texts multiply
constexpr std::string_view kPrefixWords = "! { } if then else elif do done while until fi esac function";

class CommandSearch {
 public:
  FoundCommands run(std::string_view text) && {
    search(text, 0, true);
    feed_input();
    return std::move(found_);
  }

 private:
  bool spent(int depth, std::size_t bytes) {
    bytes_ += bytes;
    const bool over = depth >= kDeepest || bytes_ > kMostBytes || found_.commands.size() >= kMostMembers;
    found_.cut = found_.cut || over;
    return over;
  }

  void search(std::string_view text, int depth, bool top) {
    if (spent(depth, text.size())) return;
    ScannedText scanned = scan_shell(text);
    found_.cut = found_.cut || scanned.cut;
    for (ScannedCommand& command : scanned.commands) {
      for (const std::string& nested : command.nested) search(nested, depth + 1, false);
      scanned_command(std::move(command), depth, top);
      if (top) ++root_;
    }
    if (top && root_ > 0) --root_;  // what follows belongs to the last command
    for (const std::string& nested : scanned.nested) search(nested, depth + 1, false);
    for (std::string& input : scanned.input) input_.push_back(std::move(input));
  }

  void scanned_command(ScannedCommand command, int depth, bool top) {
    FoundCommand found;
    found.reads = std::move(command.reads);
    found.writes = std::move(command.writes);
    found.root = root_;
    found.top = top;
    found.argv = std::move(command.words);
    strip(found);
    emit(std::move(found), depth);
    if (!command.emptied.empty()) inner(std::move(command.emptied), depth + 1);
  }

  // Reserved words and assignments before the program.
  static void strip(FoundCommand& found) {
    std::size_t at = 0;
    for (; at < found.argv.size(); ++at) {
      if (is_assignment(found.argv[at])) {
        found.assignments.push_back(found.argv[at]);
      } else if (!has_word(kPrefixWords, found.argv[at])) {
        break;
      }
    }
    found.argv.erase(found.argv.begin(), found.argv.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void emit(FoundCommand found, int depth) {
    if (spent(depth, 0)) return;
    const Argv argv = found.argv;
    found_.commands.push_back(std::move(found));
    if (argv.empty()) return;
    if (only_prints(program_name(argv.front()))) printed(argv);
    expand(argv, depth);
  }

  // What echo prints may be what xargs or a shell later in the line reads.
  void printed(const Argv& argv) {
    std::string line;
    for (std::size_t at = 1; at < argv.size(); ++at) {
      if (!line.empty()) line += ' ';
      line += argv[at];
    }
    if (!line.empty()) input_.push_back(std::move(line));
  }

  void inner(Argv argv, int depth, std::vector<std::string> assignments = {}) {
    FoundCommand found;
    found.root = root_;
    found.argv = std::move(argv);
    found.assignments = std::move(assignments);
    strip(found);
    emit(std::move(found), depth);
  }

  void expand(const Argv& argv, int depth) {
    if (const auto brace = std::find(argv.begin() + 1, argv.end(), "{"); brace != argv.end()) {
      inner(Argv(brace + 1, argv.end()), depth + 1);  // function f { …
    }
    if (Argv plain = without_global_options(argv); plain.size() != argv.size()) inner(std::move(plain), depth + 1);
    const Unwrapped wrapped = unwrap(argv);
    for (const std::size_t start : wrapped.starts) {
      Argv command(argv.begin() + static_cast<std::ptrdiff_t>(start), argv.end());
      if (wrapped.reads_commands) readers_.push_back({root_, command});
      inner(std::move(command), depth + 1, wrapped.assignments);
    }
    if (wrapped.starts.empty() && !wrapped.assignments.empty()) inner({}, depth + 1, wrapped.assignments);
    for (const std::string& text : wrapped.texts) search(text, depth + 1, false);
    if (wrapped.reads_commands && wrapped.starts.empty()) readers_.push_back({root_, {}});
    if (is_state_changing_builtin(argv.front())) builtin_assignments(argv, depth);
  }

  // export NAME=value and its like.
  void builtin_assignments(const Argv& argv, int depth) {
    std::vector<std::string> assignments;
    std::copy_if(argv.begin() + 1, argv.end(), std::back_inserter(assignments), is_assignment);
    if (!assignments.empty()) inner({}, depth + 1, std::move(assignments));
  }

  struct Reader {
    std::size_t root;
    Argv command;  // xargs' command; empty for a shell
  };

  void feed_input() {
    const std::vector<Reader> readers = std::exchange(readers_, {});
    for (const Reader& reader : readers) {
      root_ = reader.root;
      const std::vector<std::string> inputs = input_;
      for (const std::string& input : inputs) {
        search(input, 1, false);
        if (!reader.command.empty()) search(quote_command(reader.command) + " " + input, 1, false);
        if (found_.cut) return;
      }
    }
  }

  FoundCommands found_;
  std::size_t root_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::string> input_;
  std::vector<Reader> readers_;
};

}  // namespace

FoundCommands search_shell(std::string_view text) {
  return CommandSearch().run(text);
}

}  // namespace oncelatch::policy
