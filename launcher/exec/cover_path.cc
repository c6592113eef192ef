#include "launcher/exec/cover_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "sandbox/plan_checks.h"
#include "sandbox/view.h"

namespace oncelatch::launcher {

namespace {

constexpr int kMostLinks = 40;  // as the kernel: ELOOP beyond

bool is_shown(const std::string& path, const std::vector<std::string>& shown) {
  return std::any_of(shown.begin(), shown.end(),
                     [&](const std::string& root) { return path != root && sandbox::lies_within(path, root); });
}

// Empty where it can't be read.
std::string text_of_link(const std::string& path) {
  std::array<char, PATH_MAX> text;
  ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

// Takes the first component off.
std::string next_component(std::string& rest) {
  std::size_t slash = rest.find('/');
  std::string name = rest.substr(0, slash);
  rest = slash == std::string::npos ? std::string() : rest.substr(slash + 1);
  return name;
}

}  // namespace

std::vector<sandbox::Cover> cover_path(const std::string& root, const std::string& relative, sandbox::Cover::Kind kind,
                                       const std::vector<std::string>& shown) {
  using sandbox::Cover;
  std::vector<Cover> covers;
  std::string here = root;
  std::string rest = relative;
  for (int links = 0; !rest.empty();) {
    std::string name = next_component(rest);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      here = sandbox::parent_path(here);
      continue;
    }
    std::string next = (here == "/" ? "" : here) + "/" + name;
    struct stat found {};
    if (::lstat(next.c_str(), &found) != 0) {
      const bool absent = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
      std::string whole = rest.empty() ? next : next + "/" + rest;
      if (is_shown(whole, shown) && sandbox::clean(whole)) covers.push_back({std::move(whole), kind, !absent});
      return covers;
    }
    if (!S_ISLNK(found.st_mode)) {
      here = std::move(next);
      continue;
    }
    std::string text = text_of_link(next);
    if (is_shown(next, shown)) covers.push_back({next, Cover::Kind::link, true});
    if (text.empty() || ++links > kMostLinks) return covers;
    if (text[0] == '/') here = "/";
    rest = text + (rest.empty() ? "" : "/" + rest);
  }
  if (is_shown(here, shown)) covers.push_back({here, kind, true});
  return covers;
}

std::vector<sandbox::Cover> cover_where_unguarded(const std::string& root, const std::string& relative,
                                                  const std::vector<std::string>& shown) {
  std::vector<sandbox::Cover> covers = cover_path(root, relative, sandbox::Cover::Kind::protect, shown);
  const bool plain =
      covers.size() == 1 && covers[0].kind == sandbox::Cover::Kind::protect && covers[0].path == root + "/" + relative;
  if (plain) covers[0].where_unguarded = true;
  return covers;
}

}  // namespace oncelatch::launcher
