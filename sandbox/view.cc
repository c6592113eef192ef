#include "sandbox/view.h"

#include <cerrno>

namespace oncelatch::sandbox {

namespace {

std::uint8_t flags_of(BindOptions options) {
  unsigned flags = 0;
  if (options.read_only) flags |= kReadOnly;
  if (!options.executable) flags |= kNoExecute;
  if (options.directory) flags |= kIsDirectory;
  if (options.guarded) flags |= kGuarded;
  if (options.guarded && options.git_directory) flags |= kGitDirectory;
  if (options.guarded && options.shared_only) flags |= kSharedOnly;
  return static_cast<std::uint8_t>(flags);
}

// Made by oncelatch-exec itself (sandbox/devices.cc, sandbox/proc.cc).
bool built_in(const std::string& path) {
  return path == "/dev/shm";
}
bool reserved(const std::string& path) {
  if (path != "/dev/shm" && lies_within(path, "/dev/shm")) return false;
  return lies_within(path, "/dev") || lies_within(path, "/proc") || lies_within(path, "/.empty");
}

}  // namespace

std::string parent_path(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

bool lies_within(const std::string& path, const std::string& directory) {
  if (directory == "/") return true;
  return path == directory || (path.size() > directory.size() && path.compare(0, directory.size(), directory) == 0 &&
                               path[directory.size()] == '/');
}

void View::directory(const std::string& target, std::uint32_t mode, Rights rights) {
  entries_[target] = {.kind = EntryKind::directory,
                      .rights = rights,
                      .flags = kIsDirectory,
                      .mode = mode,
                      .source = -1,
                      .target = target,
                      .text = {}};
}

void View::file(const std::string& target, std::string content, std::uint32_t mode) {
  entries_[target] = {.kind = EntryKind::file,
                      .rights = Rights::none,
                      .flags = 0,
                      .mode = mode,
                      .source = -1,
                      .target = target,
                      .text = std::move(content)};
}

void View::link(const std::string& target, const std::string& to) {
  entries_[target] = {.kind = EntryKind::link,
                      .rights = Rights::none,
                      .flags = 0,
                      .mode = 0,
                      .source = -1,
                      .target = target,
                      .text = to};
}

void View::temporary(const std::string& target, std::uint32_t mode, Rights rights) {
  entries_[target] = {.kind = EntryKind::temporary,
                      .rights = rights,
                      .flags = kIsDirectory,
                      .mode = mode,
                      .source = -1,
                      .target = target,
                      .text = {}};
}

void View::bind_path(const std::string& source, const std::string& target, BindOptions options, Rights rights) {
  entries_[target] = {.kind = EntryKind::bind,
                      .rights = rights,
                      .flags = flags_of(options),
                      .mode = 0,
                      .source = -1,
                      .target = target,
                      .text = source};
}

void View::bind_source(std::int32_t source, const std::string& target, BindOptions options, Rights rights) {
  entries_[target] = {.kind = EntryKind::bind,
                      .rights = rights,
                      .flags = flags_of(options),
                      .mode = 0,
                      .source = source,
                      .target = target,
                      .text = {},
                      .map_owner = options.map_owner};
}

void View::overlay(const std::string& target, Rights rights, bool map_owner) {
  entries_[target] = {.kind = EntryKind::overlay,
                      .rights = rights,
                      .flags = kIsDirectory,
                      .mode = 0,
                      .source = -1,
                      .target = target,
                      .text = {},
                      .map_owner = map_owner};
}

void View::cover(EntryKind kind, std::int32_t source, const std::string& target, bool directory) {
  covers_.push_back({.kind = kind,
                     .rights = Rights::none,
                     .flags = flags_of({.directory = directory}),
                     .mode = 0,
                     .source = source,
                     .target = target,
                     .text = {}});
}

// The nearest entry that holds the target.
const ViewEntry* View::holder(const std::string& target) const {
  for (std::string path = parent_path(target); !path.empty(); path = parent_path(path))
    if (auto found = entries_.find(path); found != entries_.end()) return &found->second;
  return nullptr;
}

bool View::in_our_tmpfs(const std::string& target) const {
  const ViewEntry* above = holder(target);
  return above == nullptr || (above->kind != EntryKind::bind && above->kind != EntryKind::overlay);
}

Status View::add_parents(const std::string& target) {
  if (reserved(target)) return fail_errno("sandbox", target, EINVAL, "choose a target outside /dev and /proc");
  const ViewEntry* above = holder(target);
  if (above != nullptr && (above->kind == EntryKind::file || above->kind == EntryKind::link))
    return fail_errno("sandbox", target, ENOTDIR, "nothing can be mounted below " + above->target);
  if (!in_our_tmpfs(target)) return {};
  std::vector<std::string> missing;
  for (std::string path = parent_path(target); !path.empty() && entries_.find(path) == entries_.end();
       path = parent_path(path)) {
    if (built_in(path)) break;
    missing.push_back(path);
  }
  for (const std::string& path : missing) directory(path, 0755, Rights::none);
  return {};
}

Result<std::vector<ViewEntry>> View::finish() {
  std::vector<std::string> targets;
  for (const auto& [target, entry] : entries_) targets.push_back(target);
  for (const std::string& target : targets) TRY(add_parents(target));
  std::vector<ViewEntry> result;
  for (auto& [target, entry] : entries_) {
    bool mounts =
        entry.kind == EntryKind::bind || entry.kind == EntryKind::temporary || entry.kind == EntryKind::overlay;
    if (!mounts && !in_our_tmpfs(target))
      return fail_errno("sandbox", target, EINVAL, "choose a name outside " + holder(target)->target,
                        "would be made in a directory of the host");
    if (mounts && in_our_tmpfs(target)) entry.flags = static_cast<std::uint8_t>(entry.flags | kCreateTarget);
    result.push_back(entry);
  }
  result.insert(result.end(), covers_.begin(), covers_.end());
  if (result.size() > kMostEntries) return fail_errno("sandbox", "entries", E2BIG, "name fewer mounts");
  return result;
}

}  // namespace oncelatch::sandbox
