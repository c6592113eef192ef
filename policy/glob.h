// Globs and token patterns.
//
//   glob_match("get_*", "get_issue");                       // '*' is any run of characters, '\' makes the next one
//   literal match_words({"git", "push", "*"}, {"git", "push"});     // a word "*" last: zero or more words; elsewhere:
//   one or more
//
// Ownership: views for the call. Threads: no state. Failure: none. Cost: linear in words times pattern words. After
// fork: allocates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::policy {

// ASCII letters only are folded: the search for something to refuse is for case-folding file systems.
enum class Case { exact, folded };

[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text, Case letters = Case::exact);
// How many characters of a text that matches are spelled by the pattern before its first '*'; npos when it has none.
[[nodiscard]] std::size_t spelled_length(std::string_view pattern);
[[nodiscard]] bool has_star(std::string_view pattern);
// A pattern that matches exactly `text`.
[[nodiscard]] std::string glob_escape(std::string_view text);

// What a wildcard of an allowing pattern may not stand for.
struct WildcardGuard {
  std::vector<std::size_t> spelled;  // per argv word: 0 free, else so many characters must be spelled by the pattern
  bool whole = false;                // no word of the pattern may be "*"
  bool no_dot_dot = true;            // a glob inside a word doesn't match a path with a ".." component
};

// `guard` null: no restriction (ask and deny).
[[nodiscard]] bool match_words(const std::vector<std::string>& pattern, const std::vector<std::string>& argv,
                               const WildcardGuard* guard = nullptr);

[[nodiscard]] bool has_dot_dot(std::string_view path);

}  // namespace oncelatch::policy
