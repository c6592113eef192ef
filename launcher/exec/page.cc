#include "launcher/exec/page.h"

#include <algorithm>

#include "base/untrusted.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kWidth = 80;

}  // namespace

void Page::title(std::string_view text) {
  text_ += (text_.empty() ? "" : "\n") + std::string(text) + "\n";
}

void Page::row(std::string_view left, std::string_view right) {
  std::string shown = "  " + escape_for_display(left, 4096);
  std::size_t column = display_width(shown);
  text_ += shown;
  if (right.empty()) {
    text_ += "\n";
    return;
  }
  if (column + 1 >= left_) {
    text_ += "\n";
    column = 0;
  }
  text_.append(left_ - column, ' ');
  wrap(right, left_, left_);
}

void Page::text(std::string_view words) {
  wrap(words, 0, 0);
}

// Words of `words` from `column` on; further lines begin at `indent`.
void Page::wrap(std::string_view words, std::size_t indent, std::size_t column) {
  bool first = true;
  while (!words.empty()) {
    std::size_t end = std::min(words.find(' '), words.size());
    std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    std::size_t width = display_width(word);
    if (!first && column + 1 + width > kWidth) {
      text_ += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) text_ += ' ';
    text_ += word;
    column += width + (first ? 0 : 1);
    first = false;
  }
  text_ += "\n";
}

}  // namespace oncelatch::launcher
