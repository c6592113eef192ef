#include "policy/path_pattern.h"

#include <algorithm>
#include <vector>

namespace oncelatch::policy {
namespace {

std::vector<std::string_view> components(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string normalised(std::string_view path) {
  std::vector<std::string_view> kept;
  for (const std::string_view part : components(path)) {
    if (part == ".") continue;
    if (part != "..") {
      kept.push_back(part);
    } else if (!kept.empty()) {
      kept.pop_back();
    }
  }
  std::string result;
  for (const std::string_view part : kept) {
    result += '/';
    result += part;
  }
  return result.empty() ? "/" : result;
}

// `path` beneath `directory`, both normalised; empty when it isn't.
std::string beneath(const std::string& path, const std::string& directory) {
  if (path == directory) return ".";
  const std::string prefix = directory == "/" ? directory : directory + "/";
  return path.compare(0, prefix.size(), prefix) == 0 ? path.substr(prefix.size()) : std::string();
}

bool is_absolute(std::string_view path) {
  return !path.empty() && path.front() == '/';
}

}  // namespace

PathSubject path_subject(std::string_view path, const Facts& facts) {
  PathSubject subject;
  const std::string& base = facts.working_directory.empty() ? facts.workspace : facts.working_directory;
  const bool rooted = is_absolute(path);
  subject.absolute = normalised(rooted ? std::string(path) : base + "/" + std::string(path));
  if (is_absolute(facts.workspace)) subject.relative = beneath(subject.absolute, normalised(facts.workspace));
  const bool tilde = !path.empty() && path.front() == '~';
  if (path.empty() || tilde || (!rooted && !is_absolute(base))) {
    subject.unclear = "unclear-path";
  } else if (has_dot_dot(path) && subject.relative.empty()) {
    subject.unclear = "path-escapes";
  }
  return subject;
}

bool components_match(std::string_view pattern, std::string_view text, Case letters) {
  const std::vector<std::string_view> globs = components(pattern);
  const std::vector<std::string_view> parts = components(text);
  std::size_t g = 0;
  std::size_t p = 0;
  std::size_t any = std::string_view::npos;
  std::size_t resume = 0;
  while (p < parts.size()) {
    if (g < globs.size() && globs[g] == "**") {
      any = ++g;
      resume = p;
    } else if (g < globs.size() && glob_match(globs[g], parts[p], letters)) {
      ++g;
      ++p;
    } else if (any != std::string_view::npos) {
      g = any;
      p = ++resume;
    } else {
      return false;
    }
  }
  while (g < globs.size() && globs[g] == "**") ++g;
  return g == globs.size();
}

bool path_matches(std::string_view pattern, const PathSubject& path, PathReach reach, Case letters) {
  const bool floating = pattern.substr(0, 2) == "**" && reach == PathReach::anywhere;
  if (is_absolute(pattern) || floating) return components_match(pattern, path.absolute, letters);
  if (pattern.substr(0, 2) == "./") pattern.remove_prefix(2);
  return !path.relative.empty() && components_match(pattern, path.relative, letters);
}

}  // namespace oncelatch::policy
