// Text in two columns for a terminal of 80: titles, and rows whose right side is wrapped under itself.
//
//   Page page;
//   page.title("writable");
//   page.row("/home/u/project", "the workspace");
//   std::fputs(page.take().c_str(), stdout);
//
// Ownership: owns the text. Threads: one. Failure: none. Units: columns. After fork: allocates. Part of the light
// program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace oncelatch::launcher {

class Page {
 public:
  explicit Page(std::size_t left = 28) : left_(left) {}

  void title(std::string_view text);
  // `left` is escaped for display, `right` is ours. A left side that is too long gets a line of its own.
  void row(std::string_view left, std::string_view right);
  // A paragraph over the whole width.
  void text(std::string_view words);
  // As it is.
  void line(std::string_view line) { text_ += std::string(line) + "\n"; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void wrap(std::string_view words, std::size_t indent, std::size_t column);

  std::size_t left_;
  std::string text_;
};

}  // namespace oncelatch::launcher
