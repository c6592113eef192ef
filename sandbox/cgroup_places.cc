#include "sandbox/cgroup_places.h"

namespace oncelatch::sandbox {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= text.size();) {
    std::size_t end = text.find(separator, start);
    if (end == std::string_view::npos) end = text.size();
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

bool lists(std::string_view words, std::string_view wanted) {
  for (std::string_view word : split(words, ','))
    if (word == wanted) return true;
  return false;
}

// Path of our group in the hierarchy of `controller` (empty: v2), from "5:cpu,memory:/path".
std::string_view own_path(std::string_view own_groups, std::string_view controller) {
  for (std::string_view line : split(own_groups, '\n')) {
    std::size_t first = line.find(':');
    std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    bool same = controller.empty() ? line.starts_with("0::") : lists(controllers, controller);
    if (same) return line.substr(second + 1);
  }
  return {};
}

struct Mount {
  std::string_view root;
  std::string_view point;
};

// "36 35 98:0 /root /point options [tags] - type source options". Escaped names are never ours.
bool read_mount(std::string_view line, std::string_view controller, Mount& mount) {
  std::size_t middle = line.find(" - ");
  if (middle == std::string_view::npos) return false;
  std::vector<std::string_view> left = split(line.substr(0, middle), ' ');
  std::vector<std::string_view> right = split(line.substr(middle + 3), ' ');
  if (left.size() < 6 || right.size() < 3) return false;
  mount = {left[3], left[4]};
  if (line.substr(0, middle).find('\\') != std::string_view::npos) return false;
  return controller.empty() ? right[0] == "cgroup2" : right[0] == "cgroup" && lists(right[2], controller);
}

// The directory of our group, empty where it isn't mounted here.
std::string directory(std::string_view own_groups, std::string_view mounts, std::string_view controller,
                      std::string* top = nullptr) {
  std::string_view path = own_path(own_groups, controller);
  if (path.empty() || path.find("..") != std::string_view::npos) return {};
  for (std::string_view line : split(mounts, '\n')) {
    Mount mount;
    if (!read_mount(line, controller, mount)) continue;
    std::string_view below = path;
    if (mount.root != "/") {
      bool within =
          path.starts_with(mount.root) && (path.size() == mount.root.size() || path[mount.root.size()] == '/');
      if (!within) continue;
      below.remove_prefix(mount.root.size());
    }
    if (top != nullptr) *top = mount.point;
    return std::string(mount.point) + (below == "/" ? "" : std::string(below));
  }
  return {};
}

}  // namespace

CgroupPlaces find_places(std::string_view own_groups, std::string_view mounts) {
  CgroupPlaces places;
  std::string top;
  std::string own = directory(own_groups, mounts, {}, &top);
  if (!own.empty()) places.unified.push_back(own);
  if (own.size() > top.size()) places.unified.push_back(own.substr(0, own.rfind('/')));
  places.memory = directory(own_groups, mounts, "memory");
  places.processes = directory(own_groups, mounts, "pids");
  return places;
}

}  // namespace oncelatch::sandbox
