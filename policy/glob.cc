#include "policy/glob.h"

#include <algorithm>

namespace oncelatch::policy {
namespace {

char fold(char character, Case letters) {
  const bool upper = character >= 'A' && character <= 'Z';
  return letters == Case::folded && upper ? static_cast<char>(character - 'A' + 'a') : character;
}

// Bytes of the pattern's next literal: two with an escape.
std::size_t literal_width(std::string_view pattern, std::size_t at) {
  return pattern[at] == '\\' && at + 1 < pattern.size() ? 2 : 1;
}

bool same(std::string_view pattern, std::size_t at, char character, Case letters) {
  return fold(pattern[at + literal_width(pattern, at) - 1], letters) == fold(character, letters);
}

bool is_star(std::string_view word) {
  return word == "*";
}

bool word_matches(std::string_view pattern, const std::string& word, std::size_t index, const WildcardGuard* guard) {
  if (!glob_match(pattern, word)) return false;
  if (guard == nullptr) return true;
  if (guard->no_dot_dot && has_star(pattern) && has_dot_dot(word)) return false;
  return spelled_length(pattern) >= guard->spelled[index];
}

using Reachable = std::vector<char>;

Reachable after_star(const Reachable& from, bool may_be_none, const WildcardGuard* guard) {
  Reachable to(from.size(), 0);
  bool running = false;
  for (std::size_t at = 0; at < from.size(); ++at) {
    to[at] = running || (may_be_none && from[at] != 0) ? 1 : 0;
    running = running || from[at] != 0;
    if (guard != nullptr && at + 1 < from.size() && guard->spelled[at] != 0) running = false;
  }
  return to;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text, Case letters) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      resume = t;
    } else if (p < pattern.size() && same(pattern, p, text[t], letters)) {
      p += literal_width(pattern, p);
      ++t;
    } else if (star != std::string_view::npos) {
      p = star;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::size_t spelled_length(std::string_view pattern) {
  std::size_t length = 0;
  for (std::size_t at = 0; at < pattern.size(); at += literal_width(pattern, at)) {
    if (pattern[at] == '*') return length;
    ++length;
  }
  return std::string_view::npos;
}

bool has_star(std::string_view pattern) {
  return spelled_length(pattern) != std::string_view::npos;
}

std::string glob_escape(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    if (character == '*' || character == '\\') escaped += '\\';
    escaped += character;
  }
  return escaped;
}

bool has_dot_dot(std::string_view path) {
  for (std::size_t at = path.find(".."); at != std::string_view::npos; at = path.find("..", at + 1)) {
    const bool begins = at == 0 || path[at - 1] == '/';
    const bool ends = at + 2 == path.size() || path[at + 2] == '/';
    if (begins && ends) return true;
  }
  return false;
}

bool match_words(const std::vector<std::string>& pattern, const std::vector<std::string>& argv,
                 const WildcardGuard* guard) {
  if (pattern.empty() || argv.empty()) return false;
  if (!is_star(pattern.front()) && !word_matches(pattern.front(), argv.front(), 0, guard)) return false;
  if (guard != nullptr && guard->whole && std::any_of(pattern.begin(), pattern.end(), is_star)) return false;
  Reachable reach(argv.size() + 1, 0);
  reach[0] = 1;
  for (std::size_t word = 0; word < pattern.size(); ++word) {
    if (is_star(pattern[word])) {
      reach = after_star(reach, word + 1 == pattern.size() && word != 0, guard);
      continue;
    }
    Reachable next(reach.size(), 0);
    bool any = false;
    for (std::size_t at = 0; at < argv.size(); ++at) {
      if (reach[at] == 0 || !word_matches(pattern[word], argv[at], at, guard)) continue;
      next[at + 1] = 1;
      any = true;
    }
    if (!any) return false;
    reach = std::move(next);
  }
  return reach.back() != 0;
}

}  // namespace oncelatch::policy
