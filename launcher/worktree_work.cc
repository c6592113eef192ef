#include "launcher/worktree_work.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/after_run.h"
#include "launcher/git_files.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "worktree";
constexpr std::size_t kMostText = std::size_t{64} << 10;
constexpr std::size_t kMostAsked = 1000;                     // objects; a link beyond that counts as one that leads out
constexpr std::size_t kMostShallow = std::size_t{16} << 20;  // bytes of the file

void add_objects(const std::vector<TreeChange>& changes, std::vector<std::string>& objects) {
  for (const TreeChange& change : changes) {
    if (change.was != 0 && change.was != kGitLink) objects.push_back(change.before);
    if (change.mode != 0 && change.mode != kGitLink) objects.push_back(change.after);
  }
}

void append(std::vector<std::string>& list, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

void make_unique(std::vector<std::string>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

WorktreeWork::WorktreeWork(const WorktreeRepository& repository, const Worktree& tree, OwnObjects own)
    : repository_(&repository), tree_(tree), own_(std::move(own)) {}

Result<WorktreeWork> WorktreeWork::look(const WorktreeRepository& repository, const Worktree& tree) {
  const std::string drop = "oncelatch worktree drop --force " + tree.name;
  struct stat own {};
  if (tree.git_dir.empty() || ::lstat((tree.git_dir + "/HEAD").c_str(), &own) != 0 || !S_ISREG(own.st_mode))
    return fail(kStage, tree.name, "the repository doesn't know it any more", drop);
  const GitPlace& main = repository.main;
  TRY(check_git_files({main.git_dir, main.common, tree.git_dir}, {tree.reference()}));
  WorktreeWork work(repository, tree, TRY(OwnObjects::open(repository.own, main, tree.path + ".own")));
  const HostGit& git = repository.shared;
  Result<std::string> head = git.ask(main, {"rev-parse", "-q", "--verify", "HEAD^{commit}"});
  if (!head) return fail(kStage, escape_for_display(main.work_tree, 400), "has no commit checked out", "git log");
  Result<std::string> tip = git.ask(main, {"rev-parse", "-q", "--verify", tree.reference() + "^{commit}"});
  if (!tip) return fail(kStage, tree.name, "its branch " + tree.branch() + " is gone or broken", drop);
  work.state_.head = *head;
  work.state_.tip = *tip;
  Status seen = work.take_snapshot();
  if (seen) seen = work.measure(work.own_.claimed());
  if (seen) return work;
  const Error& error = seen.error();
  if (!error.try_next.empty()) return Failure(error);
  return fail(kStage, tree.name, error.object + ": " + error.what, drop + ", if nothing in it is to be kept");
}

Result<WorktreeWork> WorktreeWork::open(const WorktreeRepository& repository, const Worktree& tree) {
  WorktreeWork work = TRY(look(repository, tree));
  TRY(work.verify());
  return work;
}

Status WorktreeWork::take_snapshot() {
  GitPlace place = own_.claimed();
  place.work_tree = tree_.path;
  place.index = own_.path("index");
  const HostGit& git = repository_->own;
  TRY(git.ask(place, {"read-tree", "-i", "-m", "--no-sparse-checkout", state_.tip}));
  TRY(git.ask(place, {"add", "--all"}));
  state_.tree = TRY(git.ask(place, {"write-tree"}));
  return {};
}

// What follows from head, tip and tree, by the objects of this place.
Status WorktreeWork::measure(const GitPlace& place) {
  const HostGit& git = repository_->own;
  state_.uncommitted = state_.tree != TRY(git.ask(place, {"rev-parse", state_.tip + "^{tree}"}));
  Result<std::string> base = git.ask(place, {"merge-base", state_.head, state_.tip});
  if (!base)
    return fail(kStage, tree_.name, "has nothing in common with what is checked out here", "git log " + tree_.branch());
  state_.base = lines_of(*base)[0];
  const std::string count = TRY(git.ask(place, {"rev-list", "--count", state_.base + ".." + state_.tip}));
  std::from_chars(count.data(), count.data() + count.size(), state_.commits);
  return {};
}

// Where history may end: commits that head and tip have in common, and the ends of a shallow clone. One that is no such
// commit hides what is behind it; what is left is still a base of both.
Result<std::vector<std::string>> WorktreeWork::ends(const Span& span) const {
  std::vector<std::string> found = span.starts;
  std::vector<std::string> arguments = {"rev-list", "--boundary", state_.head, state_.tip, "--not"};
  append(arguments, span.starts);
  std::set<std::string> shallow;
  if (const Result<Fd> common = open_directory(repository_->main.common))
    if (const Result<std::string> file = read_file(common->get(), "shallow", kMostShallow))
      for (std::string& line : lines_of(*file)) shallow.insert(std::move(line));
  for (const std::string& line : lines_of(TRY(repository_->own.ask(own_.claimed(), arguments)))) {
    if (line.starts_with('-')) found.push_back(line.substr(1));
    if (shallow.contains(line)) found.push_back(line);
  }
  make_unique(found);
  return found;
}

// All that is of the branch; of the head what differs from it; of every commit between them the commit.
Result<std::vector<std::string>> WorktreeWork::claimed_objects(const Span& span) const {
  const GitPlace place = own_.claimed();
  const HostGit& git = repository_->own;
  auto told = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    append(arguments, more);
    Result<std::string> text = git.ask(place, arguments);
    return text ? Result<std::vector<std::string>>(lines_of(*text)) : Failure(text.error());
  };
  std::vector<std::string> objects = TRY(told({"rev-list", state_.head, state_.tip, "--not"}, span.starts));
  append(objects, TRY(told({"rev-list", "--objects", "--no-object-names", state_.tip, "--not"}, span.starts)));
  std::vector<std::string> trees = {state_.head + "^{tree}", state_.tip + "^{tree}", state_.tree};
  std::vector<std::pair<std::string, std::string>> pairs = {{state_.tip, state_.tree}};
  for (const std::string& base : span.bases) {
    trees.push_back(base + "^{tree}");
    pairs.emplace_back(base, state_.head);
    pairs.emplace_back(base, state_.tip);
    for (const std::string& start : span.starts) pairs.emplace_back(start, base);
  }
  for (const std::string& start : span.starts) trees.push_back(start + "^{tree}");
  append(objects, TRY(told({"rev-list", "--objects", "--no-object-names", "--filter=blob:none"}, trees)));
  for (const auto& [from, to] : pairs) {
    const std::vector<TreeChange> changed = TRY(changes(place, from, to));
    add_objects(changed, objects);
  }
  return objects;
}

Result<WorktreeWork::Span> WorktreeWork::claimed_span() const {
  const GitPlace place = own_.claimed();
  Span span;
  span.bases = lines_of(TRY(repository_->own.ask(place, {"merge-base", "--all", state_.head, state_.tip})));
  span.starts = span.bases;
  if (span.bases.size() == 1) return span;
  std::vector<std::string> arguments = {"merge-base", "--octopus"};
  append(arguments, span.bases);
  if (const Result<std::string> start = repository_->own.ask(place, arguments)) span.starts = lines_of(*start);
  return span;
}

Status WorktreeWork::verify() {
  const Span span = TRY(claimed_span());
  std::vector<std::string> objects = TRY(claimed_objects(span));
  const std::vector<std::string> last = TRY(ends(span));
  append(objects, last);
  make_unique(objects);
  TRY(own_.bring(objects, last));
  return measure(own_.verified());
}

Result<std::string> WorktreeWork::ask(const std::vector<std::string>& arguments) const {
  return repository_->own.ask(own_.verified(), arguments);
}

Result<std::vector<TreeChange>> WorktreeWork::changes(const GitPlace& place, const std::string& from,
                                                      const std::string& to) const {
  const std::string text =
      TRY(repository_->own.ask(place, {"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to}));
  return parse_tree_changes(text);
}

Result<std::string> WorktreeWork::diff() const {
  return ask({"diff-tree", "-r", "-p", "-M", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", state_.base,
              state_.tree});
}

Result<AfterRunReport> WorktreeWork::effects(const std::string& from, const std::string& to) const {
  AfterRunReport seen;
  std::size_t asked = 0;
  auto text_of = [&](mode_t mode, const std::string& blob) {
    if (mode == 0) return std::string();
    if (++asked > kMostAsked) {
      seen.complete = false;
      return std::string("/");
    }
    const Result<std::string> text = ask({"cat-file", "blob", blob});
    return text ? text->substr(0, kMostText) : std::string();
  };
  for (const TreeChange& change : TRY(changes(own_.verified(), from, to))) {
    if (change.status == 'D') continue;
    const std::string target = S_ISLNK(change.mode) ? text_of(change.mode, change.after) : std::string();
    HostVerdict verdict = judge_effect(change.path, change.mode, target);
    if (change.mode == kGitLink) verdict = {"reported", "git", "names a commit of a submodule"};
    if (verdict.guard == nullptr) continue;
    HostEffect effect{.path = repository_->main.work_tree + "/" + change.path,
                      .guard = verdict.guard,
                      .kind = verdict.kind,
                      .reason = verdict.reason,
                      .change = change.status == 'A' ? "new" : "changed",
                      .line = {}};
    if (S_ISREG(change.mode) && asked + 2 <= kMostAsked)
      find_line(change.path, text_of(change.was, change.before), text_of(change.mode, change.after), effect);
    if (S_ISLNK(change.mode)) effect.line = escape_for_display(target, 160);
    seen.effects.push_back(std::move(effect));
  }
  return seen;
}

}  // namespace oncelatch::launcher
