// The project's own text files, read once.
//
//   SourceTree tree = read_source_tree(root);
//   for (const SourceFile& file : tree.files) ...
//
// Left out: hidden folders but .ci, "build" and folders whose names begin with "build-" or "cmake-build", tests/cases
// and fuzz/corpus (inputs, not code).
//
// Ownership: values. Threads: values. Failure: a file that can't be read throws std::runtime_error, which fails the
// test.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace oncelatch::layout {

struct SourceFile {
  std::string path;    // relative to the root, with slashes
  std::string folder;  // its first component; empty for files of the top
  std::vector<std::string> lines;

  [[nodiscard]] bool ends_with(const std::string& suffix) const;
  [[nodiscard]] bool is_header() const { return ends_with(".h"); }
  // C and C++.
  [[nodiscard]] bool is_code() const;
  [[nodiscard]] bool is_cmake() const;
  // What the length limit and the ban on unfinished work are about: code, CMake and scripts.
  [[nodiscard]] bool is_own_work() const;
};

struct SourceTree {
  std::set<std::string> folders;  // of the top
  std::vector<SourceFile> files;
};

[[nodiscard]] SourceTree read_source_tree(const std::filesystem::path& root);

}  // namespace oncelatch::layout
