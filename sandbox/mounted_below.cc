#include "sandbox/mounted_below.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/beneath.h"
#include "base/fd.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::size_t kMostMounts = std::size_t{16} << 20;  // bytes of the kernel's list

bool is_octal(std::string_view three) {
  for (const char c : three)
    if (c < '0' || c > '7') return false;
  return three.size() == 3;
}

// mountinfo writes blanks, line breaks and backslashes as \ooo.
std::string unescaped(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '\\' || !is_octal(word.substr(i + 1, 3))) {
      text += word[i];
      continue;
    }
    text += static_cast<char>((word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 + (word[i + 3] - '0'));
    i += 3;
  }
  return text;
}

// "36 35 98:0 /root /point options …"
std::string point_of(std::string_view line) {
  for (int field = 0; field < 4; ++field) line.remove_prefix(std::min(line.size(), line.find(' ') + 1));
  return unescaped(line.substr(0, line.find(' ')));
}

}  // namespace

Result<std::string> mounted_below(const std::string& directory) {
  Fd list(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!list) return fail_errno("sandbox", "/proc/self/mountinfo", errno);
  const std::string text = TRY(read_whole(list.get(), "/proc/self/mountinfo", kMostMounts));
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string point = point_of(rest.substr(0, end));
    if (point.starts_with(directory + "/")) return point;
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return std::string();
}

}  // namespace oncelatch::sandbox
