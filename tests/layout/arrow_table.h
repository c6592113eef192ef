// The table of rooms and arrows of docs/ARCHITECTURE.md, read from the document itself.
//
//   ArrowTable table = read_arrow_table(text);
//   if (!table.allows("audit", "redact")) ...
//
// The table stands between the lines "<!-- arrows: begin -->" and "<!-- arrows: end -->" and has the columns folder,
// level and "may include". A level is a number (a room) or the word "beside" (a folder that is no room); "may include"
// names rooms in back quotes, or says "every room".
//
// Ownership: a value. Threads: a value. Failure: what is wrong with the table is listed in `faults`; it is never
// repaired.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::layout {

struct FolderRow {
  std::optional<int> level;  // nullopt: beside the rooms
  bool every_room = false;
  std::set<std::string> may_include;
};

struct ArrowTable {
  std::map<std::string, FolderRow> folders;
  std::vector<std::string> faults;  // empty: the table can be used

  [[nodiscard]] bool is_room(const std::string& folder) const;
  // A folder may always include itself.
  [[nodiscard]] bool allows(const std::string& from, const std::string& to) const;
};

// Faults: no table, a row that can't be read, a folder twice, an arrow to a folder without a row, to a folder beside
// the rooms, upward or within a level.
[[nodiscard]] ArrowTable read_arrow_table(std::string_view document);

}  // namespace oncelatch::layout
