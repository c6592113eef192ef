// The rules of docs/ARCHITECTURE.md that a machine can check. Each returns one line a finding: "path:line: what".
//
//   for (const std::string& finding : check_includes(table, tree)) ADD_FAILURE() << finding;
//
// Ownership: values. Threads: values. Failure: none; an empty list means that the rule holds.
#pragma once

#include <string>
#include <vector>

#include "tests/layout/arrow_table.h"
#include "tests/layout/source_tree.h"

namespace oncelatch::layout {

using Findings = std::vector<std::string>;

// Every folder of the top has a row, every row a folder.
[[nodiscard]] Findings check_folders(const ArrowTable& table, const SourceTree& tree);
// Every #include of a room's file, in either form, follows an arrow; none climbs with "..", none leads from a room to a
// folder beside the rooms.
[[nodiscard]] Findings check_includes(const ArrowTable& table, const SourceTree& tree);
// Every room::NAME or room_NAME in a room's CMake files follows an arrow.
[[nodiscard]] Findings check_links(const ArrowTable& table, const SourceTree& tree);
// No file is longer than 500 lines.
[[nodiscard]] Findings check_lengths(const SourceTree& tree);
// Every header of a room opens with a comment that tells ownership, threads and failure by those words.
[[nodiscard]] Findings check_headers(const ArrowTable& table, const SourceTree& tree);
// No mark of unfinished work.
[[nodiscard]] Findings check_unfinished(const SourceTree& tree);

// Words of the product's screen in both the matcher (elicitation/) and the stand-in (tests/agents/): one that a mistake
// in either would share. Names of the wire (one word, lower case first) are the protocol's and may stand in both.
[[nodiscard]] Findings check_shared_words(const SourceTree& tree);

}  // namespace oncelatch::layout
