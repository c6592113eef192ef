#include "launcher/change_pages.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "audit/chain.h"
#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/line_diff.h"
#include "sandbox/guarded_names.h"

namespace oncelatch::launcher {

namespace {

constexpr off_t kMostText = off_t{1} << 20;
constexpr off_t kMostDigest = off_t{16} << 20;
constexpr std::size_t kMostPage = std::size_t{8} << 20;
constexpr std::size_t kShownPath = 1000;

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "file";
    case S_IFDIR:
      return "directory";
    case S_IFLNK:
      return "link";
    case S_IFIFO:
      return "pipe";
    case S_IFSOCK:
      return "socket";
    default:
      return "device";
  }
}

const char* name_of_change(const Change& change) {
  return kChangeNames[static_cast<unsigned>(change.what)];
}

std::string shown(const std::string& text) {
  return escape_for_display(text, kShownPath);
}

std::string mode_text(const Change& change) {
  if (change.mode == 0 || S_ISLNK(change.mode)) return {};
  const bool differs = change.was != 0 && !S_ISLNK(change.was) && ((change.was ^ change.mode) & 07777U) != 0;
  return differs ? fmt::format(" (mode {:04o} to {:04o})", change.was & 07777U, change.mode & 07777U)
                 : fmt::format(" (mode {:04o})", change.mode & 07777U);
}

struct Counts {
  std::map<std::string, std::size_t> by_change;
  std::map<std::string, std::size_t> by_guard;
  std::size_t conflicts = 0;
};

Counts count(const ChangeList& list) {
  Counts counts;
  for (const Change& change : list.changes) {
    ++counts.by_change[name_of_change(change)];
    if (change.verdict.guard != nullptr) ++counts.by_guard[change.verdict.guard];
    counts.conflicts += change.conflict ? 1 : 0;
  }
  return counts;
}

// One side of a change: what lies there, or how it is told.
struct Side {
  bool text = false;
  std::string bytes;
};

std::string digest_of(int file, off_t size) {
  if (size > kMostDigest) return "too long for a digest";
  Result<std::string> bytes = read_whole(file, "file", static_cast<std::size_t>(size));
  return bytes ? "sha256 " + audit::sha256_hex(*bytes) : "can't be read";
}

Side side_of(Fd file) {
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {false, "can't be read"};
  if (found.st_size <= kMostText) {
    Result<std::string> bytes = read_whole(file.get(), "file", static_cast<std::size_t>(found.st_size));
    if (bytes && bytes->find('\0') == std::string::npos) return {true, std::move(*bytes)};
    if (!bytes || ::lseek(file.get(), 0, SEEK_SET) != 0) return {false, "can't be read"};
  }
  return {false, fmt::format("{} bytes, {}", found.st_size, digest_of(file.get(), found.st_size))};
}

class Sides {
 public:
  Sides(int upper, int workspace) : upper_(upper), workspace_(workspace) {}

  [[nodiscard]] std::string difference(const Change& change) const {
    if (!change.unfit.empty()) return {};
    const Side before = side(
        change.was, [&] { return open_lower(change.path, O_RDONLY); }, change, false);
    const Side after = side(
        change.mode, [&] { return open_in_layer(upper_, change.path, O_RDONLY); }, change, true);
    if (before.text && after.text) return unified_diff(before.bytes, after.bytes);
    return line('-', change.was, before) + line('+', change.mode, after);
  }

 private:
  template <class Open>
  [[nodiscard]] Side side(mode_t mode, Open open, const Change& change, bool is_new) const {
    if (S_ISREG(mode)) return side_of(open());
    if (!S_ISLNK(mode)) return {mode == 0, ""};
    const std::string directory = directory_of(change.path);
    Fd parent = is_new ? open_in_layer(upper_, directory, O_RDONLY | O_DIRECTORY)
                       : open_lower(directory, O_RDONLY | O_DIRECTORY);
    return {false, "link to " + shown(parent ? link_target(parent.get(), name_of(change.path)) : "")};
  }

  static std::string line(char sign, mode_t mode, const Side& side) {
    if (mode == 0 || S_ISDIR(mode)) return {};
    if (side.text) return unified_diff(sign == '-' ? side.bytes : "", sign == '+' ? side.bytes : "");
    return fmt::format("{}{}\n", sign, side.bytes);
  }

  [[nodiscard]] Fd open_lower(const std::string& path, int flags) const {
    Result<Fd> opened = open_beneath(workspace_, path, flags | O_NONBLOCK | O_NOCTTY);
    return opened ? std::move(*opened) : Fd();
  }

  int upper_;
  int workspace_;
};

}  // namespace

std::string counted(const ChangeList& list) {
  const Counts counts = count(list);
  std::string text;
  for (const auto& [name, number] : counts.by_change)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, name);
  if (text.empty()) text = "nothing that differs";
  const char* between = "; ";
  for (const auto& [name, number] : counts.by_guard) {
    text += fmt::format("{}{} {}", between, number, name);
    between = ", ";
  }
  if (counts.conflicts != 0) text += fmt::format("; {} conflict{}", counts.conflicts, counts.conflicts == 1 ? "" : "s");
  if (!list.complete) text += "; and more than is looked at";
  return text;
}

Json counted_as_json(const ChangeList& list) {
  const Counts counts = count(list);
  Json json = {{"complete", list.complete}, {"conflicts", counts.conflicts}};
  auto number = [](const std::map<std::string, std::size_t>& all, const char* name) {
    auto found = all.find(name);
    return found == all.end() ? std::size_t{0} : found->second;
  };
  for (const char* name : kChangeNames) json[name] = number(counts.by_change, name);
  for (const char* name : sandbox::kGuardNames) json[name] = number(counts.by_guard, name);
  return json;
}

std::string change_line(const Change& change) {
  std::string text =
      fmt::format("{} {} {}{}", name_of_change(change), kind_of(change.mode != 0 ? change.mode : change.was),
                  shown(change.path), mode_text(change));
  if (!change.unfit.empty()) text += ": " + change.unfit + ", isn't promoted";
  if (change.verdict.guard != nullptr)
    text += fmt::format(": {}: {}: {}", change.verdict.guard, change.verdict.kind, change.verdict.reason);
  if (change.conflict) text += ": conflict: changed in the workspace since the run began";
  return text;
}

Json change_as_json(const Change& change) {
  Json json = {{"path", change.path},
               {"change", name_of_change(change)},
               {"type", kind_of(change.mode != 0 ? change.mode : change.was)},
               {"conflict", change.conflict}};
  if (change.mode != 0 && !S_ISLNK(change.mode)) json["mode"] = fmt::format("{:04o}", change.mode & 07777U);
  if (S_ISREG(change.mode)) json["size"] = change.size;
  if (!change.unfit.empty()) json["unfit"] = change.unfit;
  if (change.verdict.guard != nullptr) {
    json["guard"] = change.verdict.guard;
    json["kind"] = change.verdict.kind;
    json["reason"] = change.verdict.reason;
  }
  return json;
}

Result<std::string> changes_page(const ChangeSet& set, const std::vector<Change>& changes) {
  Fd workspace = TRY(set.open_workspace());
  Fd upper = TRY(set.open_upper());
  const Sides sides(upper.get(), workspace.get());
  std::string page;
  for (const Change& change : changes) {
    if (page.size() > kMostPage) return page + "… the rest isn't shown: name the paths to look at\n";
    page += change_line(change) + "\n" + sides.difference(change);
  }
  return page;
}

}  // namespace oncelatch::launcher
