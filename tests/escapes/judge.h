// From what was seen to a verdict. An attempt that fails without any launcher too proves nothing.
//
//   Row row = judge(one, observed, &without, true);
//
// Ownership: values. Threads: any. Failure: none. After fork: not used.
#pragma once

#include "tests/escapes/case.h"

namespace oncelatch::escapes {

enum class Verdict { held, open, not_applicable, untestable };

struct Row {
  Verdict verdict = Verdict::untestable;
  std::string detail;
  double seconds = 0;
  std::vector<Line> lines;
};

// `without`: the same case without a launcher; null where there is nothing to compare. `strict`: what only our own
// sandbox promises counts too.
[[nodiscard]] Row judge(const Case& one, const Observed& observed, const Observed* without, bool strict);
[[nodiscard]] bool is_work(const Case& one);
[[nodiscard]] std::string verdict_name(const Case& one, Verdict verdict);

}  // namespace oncelatch::escapes
