#include "launcher/tree_changes.h"

#include <algorithm>
#include <charconv>

namespace oncelatch::launcher {

// ":100644 120000 OLD NEW M", NUL, the path, NUL.
std::vector<TreeChange> parse_tree_changes(std::string_view text) {
  constexpr std::size_t kModes = 15;  // ":100644 100644 "
  std::vector<TreeChange> changes;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\0', start), text.size());
    const std::size_t last = std::min(text.find('\0', end + 1), text.size());
    const std::string_view head = text.substr(start, end - start);
    const std::size_t middle = head.find(' ', kModes);
    if (head.size() < kModes || end == text.size() || middle == std::string_view::npos) break;
    TreeChange one;
    one.path = text.substr(end + 1, last - end - 1);
    std::from_chars(head.data() + 8, head.data() + 14, one.mode, 8);
    const std::size_t behind = head.find(' ', middle + 1);
    one.before = head.substr(kModes, middle - kModes);
    one.after = head.substr(middle + 1, behind - middle - 1);
    one.status = behind + 1 < head.size() ? head[behind + 1] : '?';
    changes.push_back(std::move(one));
    start = last + 1;
  }
  return changes;
}

}  // namespace oncelatch::launcher
