// Words and placeholders. Ownership: values. Threads: any. Failure: none. After fork: not used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::escapes {

[[nodiscard]] std::string replace_all(std::string text, std::string_view from, std::string_view to);
[[nodiscard]] bool holds_word(const std::string& words, std::string_view word);  // words separated by spaces
// As a shell splits a line: spaces, '…', "…" and \ (no expansion).
[[nodiscard]] std::vector<std::string> split_words(const std::string& line);
[[nodiscard]] std::vector<std::string> split_lines(const std::string& text);

}  // namespace oncelatch::escapes
