#include "launcher/tree_changes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "base/beneath.h"
#include "base/untrusted.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "worktree";

// ":100644 120000 OLD NEW M"
bool parse_head(std::string_view head, TreeChange& change) {
  constexpr std::size_t kModes = 15;  // ":100644 120000 "
  const std::size_t middle = head.find(' ', kModes);
  const std::size_t end = middle == std::string_view::npos ? middle : head.find(' ', middle + 1);
  if (end == std::string_view::npos || head.size() != end + 2 || head[0] != ':') return false;
  std::from_chars(head.data() + 1, head.data() + 7, change.was, 8);
  std::from_chars(head.data() + 8, head.data() + 14, change.mode, 8);
  change.before = head.substr(kModes, middle - kModes);
  change.after = head.substr(middle + 1, end - middle - 1);
  change.status = head[end + 1];
  return true;
}

// What lies there, no link followed on the way or at the end; mode 0: nothing.
Result<struct stat> look_beneath(int directory, const std::string& path) {
  struct stat seen {};
  const Result<Fd> found = open_beneath(directory, path, O_PATH);
  if (!found && found.error().errno_value == ENOENT) return seen;
  if (!found) return fail_errno(kStage, escape_for_display(path, 400), found.error().errno_value, {}, "open");
  if (::fstat(found->get(), &seen) != 0) return fail_errno(kStage, escape_for_display(path, 400), errno, {}, "stat");
  return seen;
}

// Looks at one work tree; keeps the first few paths that are in the way.
class Checkout {
 public:
  Checkout(int root, const std::vector<TreeChange>& changes) : root_(root) {
    for (const TreeChange& change : changes)
      if (change.status == 'D') leaving_.insert(change.path);
  }
  Status look(const TreeChange& change) {
    if (!TRY(has_room(change.path))) return {};
    if (change.status != 'A' && change.was != kGitLink) return {};
    if (change.mode == 0 || change.mode == change.was) return {};
    const struct stat seen = TRY(look_beneath(root_, change.path));
    if (seen.st_mode == 0) return {};
    if (S_ISDIR(seen.st_mode)) return change.mode == kGitLink ? Status() : look_into(change.path);
    found(change.path);
    return {};
  }
  [[nodiscard]] bool is_clear() const { return in_the_way_.empty(); }
  [[nodiscard]] std::string told() const {
    std::string text;
    for (const std::string& path : in_the_way_) text += (text.empty() ? "" : ", ") + escape_for_display(path, 100);
    return in_the_way_.size() < kMostTold ? text : text + ", …";
  }
  [[nodiscard]] bool is_full() const { return in_the_way_.size() == kMostTold; }

 private:
  // Whether the directories on the way are some, or make place for them; false where nothing can lie at the path.
  Result<bool> has_room(const std::string& path) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string parent = path.substr(0, slash);
      if (directories_.contains(parent)) continue;
      const struct stat seen = TRY(look_beneath(root_, parent));
      if (S_ISDIR(seen.st_mode)) {
        directories_.insert(parent);
        continue;
      }
      if (seen.st_mode != 0 && !leaving_.contains(parent)) found(parent);
      return false;
    }
    return true;
  }
  // A directory where a file comes: all of its files leave, or it isn't empty.
  Status look_into(const std::string& path) {
    std::vector<std::string> left = {path};
    while (!left.empty() && !is_full()) {
      const std::string directory = std::move(left.back());
      left.pop_back();
      for (const std::string& name : TRY(entries_of(directory))) {
        std::string entry = directory + "/" + name;
        const struct stat seen = TRY(look_beneath(root_, entry));
        if (++looked_ > kMostEntries) return fail(kStage, escape_for_display(path, 400), "holds too much to look at");
        if (S_ISDIR(seen.st_mode))
          left.push_back(std::move(entry));
        else if (!leaving_.contains(entry))
          found(entry);
      }
    }
    return {};
  }
  Result<std::vector<std::string>> entries_of(const std::string& path) const {
    Result<Fd> directory = open_beneath(root_, path, O_RDONLY | O_DIRECTORY);
    DIR* stream = directory ? ::fdopendir(directory->get()) : nullptr;
    if (stream == nullptr) return fail_errno(kStage, escape_for_display(path, 400), errno, {}, "opendir");
    (void)directory->release();
    std::vector<std::string> names;
    while (names.size() <= kMostEntries) {
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(stream);
    return names;
  }
  void found(const std::string& path) {
    if (!is_full()) in_the_way_.insert(path);
  }

  static constexpr std::size_t kMostTold = 5;
  static constexpr std::size_t kMostEntries = 100'000;
  int root_;
  std::set<std::string> leaving_;      // files that are removed
  std::set<std::string> directories_;  // that are some
  std::set<std::string> in_the_way_;
  std::size_t looked_ = 0;
};

}  // namespace

Result<std::vector<TreeChange>> parse_tree_changes(const std::string& text) {
  std::vector<TreeChange> changes;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\0', start);
    const std::size_t last = end == std::string::npos ? end : text.find('\0', end + 1);
    TreeChange one;
    if (last == std::string::npos || !parse_head(std::string_view(text).substr(start, end - start), one))
      return fail(kStage, "git diff-tree", "prints what isn't understood");
    one.path = text.substr(end + 1, last - end - 1);
    changes.push_back(std::move(one));
    start = last + 1;
  }
  return changes;
}

Status check_nothing_is_in_the_way(const std::string& name, const std::string& work_tree,
                                   const std::vector<TreeChange>& changes) {
  const Fd root = TRY(open_directory(work_tree));
  Checkout checkout(root.get(), changes);
  for (const TreeChange& change : changes) {
    if (checkout.is_full()) break;
    TRY(checkout.look(change));
  }
  if (checkout.is_clear()) return {};
  return fail(kStage, name, "brings files that are here already, and git doesn't know them: " + checkout.told(),
              "move them away, or commit them");
}

}  // namespace oncelatch::launcher
