#include "launcher/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/untrusted.h"

namespace oncelatch::launcher {

namespace {

constexpr std::ptrdiff_t kMostEdits = 1000;
constexpr std::size_t kAround = 3;
constexpr std::size_t kShownLine = 1000;

using Lines = std::vector<std::string_view>;

struct Edit {
  char sign;  // ' ', '-', '+'
  std::string_view line;
};

Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size() - 1);
    lines.push_back(text.substr(start, end + 1 - start));
    start = end + 1;
  }
  return lines;
}

void add(std::vector<Edit>& edits, char sign, Lines::const_iterator first, Lines::const_iterator last) {
  for (; first != last; ++first) edits.push_back({sign, *first});
}

// Myers' greedy algorithm; each round's furthest points are kept, to walk back over.
class Shortest {
 public:
  Shortest(const Lines& a, const Lines& b)
      : a_(a), b_(b), size_a_(static_cast<std::ptrdiff_t>(a.size())), size_b_(static_cast<std::ptrdiff_t>(b.size())) {}

  // False where it would take too many.
  bool find() {
    const std::ptrdiff_t most = std::min(size_a_ + size_b_, kMostEdits);
    std::vector<std::ptrdiff_t> furthest(static_cast<std::size_t>(2 * most + 3), 0);
    for (std::ptrdiff_t d = 0; d <= most; ++d) {
      for (std::ptrdiff_t k = -d; k <= d; k += 2) {
        auto at = [&](std::ptrdiff_t diagonal) -> std::ptrdiff_t& {
          return furthest[static_cast<std::size_t>(diagonal + most + 1)];
        };
        std::ptrdiff_t x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
        while (x < size_a_ && x - k < size_b_ && same(x, x - k)) ++x;
        at(k) = x;
        if (x >= size_a_ && x - k >= size_b_) {
          keep(furthest, d, most);
          return true;
        }
      }
      keep(furthest, d, most);
    }
    return false;
  }

  std::vector<Edit> edits() const {
    std::vector<Edit> back;
    std::ptrdiff_t x = size_a_;
    std::ptrdiff_t y = size_b_;
    for (auto d = static_cast<std::ptrdiff_t>(rounds_.size()) - 1; d > 0; --d) {
      const std::vector<std::ptrdiff_t>& before = rounds_[static_cast<std::size_t>(d - 1)];
      auto at = [&](std::ptrdiff_t diagonal) {  // of -d … d
        return diagonal < 1 - d || diagonal > d - 1 ? 0 : before[static_cast<std::size_t>(diagonal + d - 1)];
      };
      const std::ptrdiff_t k = x - y;
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const std::ptrdiff_t from = down ? k + 1 : k - 1;
      const std::ptrdiff_t old_x = at(from);
      const std::ptrdiff_t old_y = old_x - from;
      while (x > old_x + (down ? 0 : 1) && y > old_y + (down ? 1 : 0)) equal(back, --x, --y);
      back.push_back(down ? Edit{'+', b_[static_cast<std::size_t>(--y)]}
                          : Edit{'-', a_[static_cast<std::size_t>(--x)]});
    }
    while (x > 0 && y > 0) equal(back, --x, --y);
    std::reverse(back.begin(), back.end());
    return back;
  }

 private:
  [[nodiscard]] bool same(std::ptrdiff_t x, std::ptrdiff_t y) const {
    return a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(y)];
  }
  void equal(std::vector<Edit>& back, std::ptrdiff_t x, std::ptrdiff_t) const {
    back.push_back({' ', a_[static_cast<std::size_t>(x)]});
  }
  void keep(const std::vector<std::ptrdiff_t>& furthest, std::ptrdiff_t d, std::ptrdiff_t most) {
    const auto middle = furthest.begin() + most + 1;
    rounds_.emplace_back(middle - d, middle + d + 1);
  }

  const Lines& a_;
  const Lines& b_;
  std::ptrdiff_t size_a_;
  std::ptrdiff_t size_b_;
  std::vector<std::vector<std::ptrdiff_t>> rounds_;
};

std::vector<Edit> compare(const Lines& a, const Lines& b) {
  std::size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  std::size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  auto middle = [&](const Lines& all) {
    return Lines(all.begin() + static_cast<std::ptrdiff_t>(head), all.end() - static_cast<std::ptrdiff_t>(tail));
  };
  const Lines from = middle(a);
  const Lines to = middle(b);
  std::vector<Edit> edits;
  add(edits, ' ', a.begin(), a.begin() + static_cast<std::ptrdiff_t>(head));
  Shortest shortest(from, to);
  if (shortest.find()) {
    const std::vector<Edit> found = shortest.edits();
    edits.insert(edits.end(), found.begin(), found.end());
  } else {
    add(edits, '-', from.begin(), from.end());
    add(edits, '+', to.begin(), to.end());
  }
  add(edits, ' ', a.end() - static_cast<std::ptrdiff_t>(tail), a.end());
  return edits;
}

std::string shown(const Edit& edit) {
  const bool whole = !edit.line.empty() && edit.line.back() == '\n';
  const std::string_view line = edit.line.substr(0, edit.line.size() - (whole ? 1 : 0));
  return edit.sign + escape_for_display(line, kShownLine) + "\n" + (whole ? "" : "\\ no newline at the end\n");
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after) {
  const Lines a = lines_of(before);
  const Lines b = lines_of(after);
  const std::vector<Edit> edits = compare(a, b);
  std::string text;
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  std::size_t done = 0;
  auto is_change = [](const Edit& edit) { return edit.sign != ' '; };
  auto pass = [&](std::size_t end) {
    for (; done < end; ++done) {
      old_line += edits[done].sign != '+' ? 1 : 0;
      new_line += edits[done].sign != '-' ? 1 : 0;
    }
  };
  for (;;) {
    const auto next = std::find_if(edits.begin() + static_cast<std::ptrdiff_t>(done), edits.end(), is_change);
    if (next == edits.end()) return text;
    const auto first = static_cast<std::size_t>(next - edits.begin());
    pass(first - std::min(kAround, first - done));
    std::size_t last = first;  // the last change that is near enough to the one before
    for (std::size_t i = first; i < edits.size() && i <= last + 2 * kAround; ++i)
      if (is_change(edits[i])) last = i;
    const std::size_t end = std::min(edits.size(), last + kAround + 1);
    const std::size_t start = done;
    const std::size_t old_start = old_line;
    const std::size_t new_start = new_line;
    pass(end);
    auto range = [](std::size_t from, std::size_t to) {
      return std::to_string(to > from ? from + 1 : from) + "," + std::to_string(to - from);
    };
    text += "@@ -" + range(old_start, old_line) + " +" + range(new_start, new_line) + " @@\n";
    for (std::size_t i = start; i < end; ++i) text += shown(edits[i]);
  }
}

}  // namespace oncelatch::launcher
