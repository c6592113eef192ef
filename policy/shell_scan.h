// The tolerant scanner: what a shell could run in any text, for rules that ask or deny. It reads quotes, substitutions,
// redirections and here-documents as bash does, never fails, and reports more rather than less.
//
//   ScannedText scanned = scan_shell("echo $(rm x) > out");
//   // commands[0].words = {"echo", "$(rm x)"}, nested = {"rm x"}, writes = {"out"}
//
// Ownership: values. Threads: no state. Failure: none; `cut` tells that a bound was reached. After fork: allocates.
// Not recursive: the caller (shell_search.h) scans nested texts with its own bounds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::policy {

struct ScannedCommand {
  std::vector<std::string> words;   // quotes removed; substitutions stay as they are spelled
  std::vector<std::string> reads;   // targets of < and <>
  std::vector<std::string> writes;  // targets of > >> >| &> >& <>
  std::vector<std::string> nested;  // texts of $(…) `…` <(…) >(…)
  std::vector<std::string>
      emptied;  // the words if every expansion gave nothing, and {a,b} were a b; empty when the same
};

struct ScannedText {
  std::vector<ScannedCommand> commands;
  std::vector<std::string> nested;  // from here-documents and comments
  std::vector<std::string> input;   // here-documents and here-strings: what a shell would read as commands
  bool cut = false;
};

[[nodiscard]] ScannedText scan_shell(std::string_view text);

// The texts of every $(…) and `…` in a text, whatever its quotes.
[[nodiscard]] std::vector<std::string> substitutions_in(std::string_view text);

}  // namespace oncelatch::policy
