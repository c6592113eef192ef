// The results side by side, for people and for programs.
//
//   std::fputs(as_table(results).c_str(), stdout);
//
// Ownership: values. Threads: any. Failure: none. After fork: not used.
#pragma once

#include <string>
#include <vector>

#include "tests/escapes/judge.h"

namespace oncelatch::escapes {

struct Column {
  std::string launcher;
  bool none = false;      // without a launcher: shows what could be tried at all
  std::vector<Row> rows;  // one a case
};

struct Results {
  std::vector<Case> cases;
  std::vector<Column> columns;
  std::string user;
  double seconds = 0;
};

[[nodiscard]] std::string as_table(const Results& results);
[[nodiscard]] std::string as_json(const Results& results);

}  // namespace oncelatch::escapes
