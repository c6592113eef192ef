#include "sandbox/covers.h"

#include <algorithm>
#include <cerrno>

namespace oncelatch::sandbox {

namespace {

// "/b" for "/a/b" below "/a"; below "/" the path itself.
std::string rest_below(const std::string& path, const std::string& directory) {
  return directory == "/" ? path : path.substr(directory.size());
}

Status contradiction(const std::string& path, const std::string& shown_at) {
  return fail("sandbox", path, "is to be hidden and is shown at " + shown_at, "leave out one of the two");
}

}  // namespace

// The innermost mount that the path lies in.
Mounts::const_iterator Covers::holder(const std::string& path) const {
  for (std::string above = parent_path(path); !above.empty(); above = parent_path(above))
    if (auto found = mounts_.find(above); found != mounts_.end()) return found;
  return mounts_.end();
}

Result<std::optional<Source>> Covers::open(const std::string& path) {
  auto mount = holder(path);
  if (mount == mounts_.end() || mount->second.index < 0) return std::optional<Source>();
  return sources_.open_below(mount->second, rest_below(path, mount->first).substr(1));
}

Status Covers::add(const Cover& cover) {
  std::optional<Source> object = TRY(open(cover.path));
  if (!object && cover.required)
    return fail_errno("sandbox", cover.path, ENOENT, "name something that exists, or leave it out",
                      "nothing there to cover");
  if (!object) return {};
  const bool link = cover.kind == Cover::Kind::link;
  if (object->link && !link)
    return fail_errno("sandbox", cover.path, ELOOP, "name the object itself, not a link to it");
  if (link && !object->link)
    return fail_errno("sandbox", cover.path, ESTALE, "start again", "it was a link, and was replaced");
  bool node = !link && !object->directory && !object->regular;
  if (node && cover.kind != Cover::Kind::hide)
    return fail("sandbox", cover.path, "neither a directory nor a regular file", "hide it instead");
  // A mount at its own path lies over what the system shows there.
  const auto held = holder(cover.path);
  const bool over = held != mounts_.end() && held->first == held->second.real_path;
  bool system = cover.kind == Cover::Kind::hide && lies_within(object->real_path, "/usr") && !over;
  if (system) return contradiction(cover.path, object->real_path);
  for (const auto& mount : mounts_) TRY(add_spelling(mount, cover, *object));
  return {};
}

// The object as `mount` shows it, if it does and no other mount lies over it there.
Status Covers::add_spelling(const Mounts::value_type& mount, const Cover& cover, const Source& object) {
  const auto& [target, source] = mount;
  if (source.index < 0) return {};
  bool hide = cover.kind == Cover::Kind::hide;
  if (hide && lies_within(source.real_path, object.real_path)) return contradiction(cover.path, target);
  if (object.real_path == source.real_path || !lies_within(object.real_path, source.real_path)) return {};
  std::string path = target + rest_below(object.real_path, source.real_path);
  if (holder(path)->first != target) return {};
  auto [place, first] = planned_.try_emplace(path, Planned{EntryKind::protect, object});
  if (hide) place->second.kind = EntryKind::hide;
  return {};
}

Status Covers::check_nothing_mounted(const std::string& hidden) const {
  for (const auto& [target, source] : mounts_)
    if (lies_within(target, hidden)) return contradiction(hidden, target);
  return {};
}

Status Covers::write(View& view) {
  std::vector<std::string> hidden;
  for (const auto& [path, planned] : planned_) {
    auto holds = [&inner = path](const std::string& directory) { return lies_within(inner, directory); };
    if (std::any_of(hidden.begin(), hidden.end(), holds)) continue;
    if (planned.kind == EntryKind::hide) TRY(check_nothing_mounted(path));
    TRY(pin_parents(view, path));
    if (mounted_.insert(path).second) view.cover(planned.kind, planned.object.index, path, planned.object.directory);
    if (planned.kind == EntryKind::hide) hidden.push_back(path);
  }
  return {};
}

// A mount's own root can't be renamed; every directory between can, also above a mount that lies in another one.
Status Covers::pin_parents(View& view, const std::string& path) {
  std::vector<std::string> parents;
  for (std::string parent = parent_path(path); !parent.empty(); parent = parent_path(parent)) {
    if (mounts_.count(parent) != 0) continue;
    auto mount = holder(parent);
    if (mount == mounts_.end() || mount->second.index < 0) break;
    parents.insert(parents.begin(), parent);
  }
  for (const std::string& parent : parents) {
    if (!mounted_.insert(parent).second) continue;
    std::optional<Source> pinned = TRY(open(parent));
    if (!pinned) return fail_errno("sandbox", parent, ENOENT);
    view.cover(EntryKind::pin, pinned->index, parent, true);
  }
  return {};
}

}  // namespace oncelatch::sandbox
