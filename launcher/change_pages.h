// Sets of changes as pages and as JSON, for `oncelatch changes`.
//
//   print_page(changes_page(set, list.changes));
//   print_page(dump_json(changes_as_json(list.changes)) + "\n");
//
// Everything is escaped. Ownership: values. Threads: one. Failure: what can't be read is said in its place. Bounds:
// texts up to 1 MiB are compared line by line, files up to 16 MiB have a digest, a page ends at 8 MiB. After fork:
// allocates.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "launcher/change_list.h"

namespace oncelatch::launcher {

// "3 added, 1 changed, 2 removed; 1 refused; 1 conflict"
[[nodiscard]] std::string counted(const ChangeList& list);
[[nodiscard]] Json counted_as_json(const ChangeList& list);
// "added file src/a.c (mode 0644): held: ci: runs with the repository's secrets"
[[nodiscard]] std::string change_line(const Change& change);
[[nodiscard]] Json change_as_json(const Change& change);
// Each with what differs.
[[nodiscard]] Result<std::string> changes_page(const ChangeSet& set, const std::vector<Change>& changes);

}  // namespace oncelatch::launcher
