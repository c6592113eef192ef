#include "tests/layout/source_tree.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace oncelatch::layout {
namespace {

namespace fs = std::filesystem;

bool left_out(const std::string& relative) {
  const std::string name = fs::path(relative).filename().string();
  if (relative == "tests/cases" || relative == "fuzz/corpus") return true;
  if (name.starts_with(".")) return relative != ".ci";
  return name == "build" || name.starts_with("build-") || name.starts_with("cmake-build");
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

bool SourceFile::ends_with(const std::string& suffix) const {
  return path.ends_with(suffix);
}

bool SourceFile::is_code() const {
  return is_header() || ends_with(".cc") || ends_with(".c") || ends_with(".hpp") || ends_with(".cpp");
}

bool SourceFile::is_cmake() const {
  return ends_with("CMakeLists.txt") || ends_with(".cmake");
}

bool SourceFile::is_own_work() const {
  return is_code() || is_cmake() || folder == "scripts" || folder == ".ci" || ends_with(".sh") || ends_with(".py");
}

SourceTree read_source_tree(const fs::path& root) {
  SourceTree tree;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string relative = entry->path().lexically_relative(root).generic_string();
    const std::size_t slash = relative.find('/');
    if (entry->is_directory() && !entry->is_symlink()) {
      if (left_out(relative)) {
        entry.disable_recursion_pending();
      } else if (slash == std::string::npos) {
        tree.folders.insert(relative);
      }
      continue;
    }
    if (entry->is_symlink() || !entry->is_regular_file()) continue;
    SourceFile file{
        .path = relative, .folder = slash == std::string::npos ? "" : relative.substr(0, slash), .lines = {}};
    if (!file.is_own_work()) continue;
    file.lines = lines_of(entry->path());
    tree.files.push_back(std::move(file));
  }
  std::sort(tree.files.begin(), tree.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return tree;
}

}  // namespace oncelatch::layout
