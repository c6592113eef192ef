// Rows for a person and for a program. Nothing of a row reaches the output unescaped, whatever the database holds.
//
//   std::fputs(format_rows(rows).c_str(), stdout);
//
// Ownership: returns text. Threads: no state. Failure: none; a missing field is shown as missing.
// Units: a title or subject is clipped at 400 code points with "…(+N)", other fields at 200. After fork: allocates.
#pragma once

#include <string>
#include <vector>

#include "audit/log.h"

namespace oncelatch::audit {

// One block a prompt at the place of its first row: time, session's last four characters, prompt, what was asked; then
// the decision with its rules, the delivery and the outcome. Other rows are one line each.
[[nodiscard]] std::string format_rows(const std::vector<Row>& rows);

// One JSON object a line, pure ASCII (everything else as \uXXXX), whole and unclipped.
[[nodiscard]] std::string rows_as_json_lines(const std::vector<Row>& rows);

}  // namespace oncelatch::audit
