#include "tests/escapes/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/untrusted.h"

namespace oncelatch::escapes {

namespace {

constexpr std::size_t kTechnique = 40;

// Without a launcher a case is open where the attempt is possible.
std::string cell(const Case& one, const Column& column, std::size_t index) {
  const Row& row = column.rows[index];
  if (!column.none) return verdict_name(one, row.verdict);
  if (row.verdict == Verdict::not_applicable) return "-";
  if (is_work(one)) return row.verdict == Verdict::held ? "works" : "fails";
  return row.verdict == Verdict::open ? "open" : "fails";
}

std::string details(const Results& results) {
  std::string text;
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    for (const Column& column : results.columns) {
      const Row& row = column.rows[i];
      if (column.none || row.verdict == Verdict::held) continue;
      text += fmt::format("{} {}: {}: {}\n", results.cases[i].id, column.launcher,
                          verdict_name(results.cases[i], row.verdict), escape_for_display(row.detail, 400));
    }
  }
  return text;
}

std::string summary(const Results& results, const Column& column) {
  int counts[4] = {};
  int works = 0;
  int work = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    Verdict verdict = column.rows[i].verdict;
    seconds += column.rows[i].seconds;
    if (!is_work(results.cases[i]))
      ++counts[static_cast<int>(verdict)];
    else if (verdict != Verdict::untestable && verdict != Verdict::not_applicable)
      ++work;
    if (is_work(results.cases[i]) && verdict == Verdict::held) ++works;
  }
  return fmt::format("{} as {}: {} held, {} not held, {} n/a, {} not testable here; work {} of {}; {:.1f} s\n",
                     column.launcher, results.user, counts[0], counts[1], counts[2], counts[3], works, work, seconds);
}

}  // namespace

std::string as_table(const Results& results) {
  std::string text = fmt::format("{:<9}{:<{}}", "case", "technique", kTechnique + 2);
  for (const Column& column : results.columns) text += fmt::format("{:<22}", column.launcher.substr(0, 20));
  text += "\n";
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    const Case& one = results.cases[i];
    text += fmt::format("{:<9}{:<{}}", one.id, one.technique.substr(0, kTechnique), kTechnique + 2);
    for (const Column& column : results.columns) {
      std::string time = column.none ? "" : fmt::format(" {:.2f} s", column.rows[i].seconds);
      text += fmt::format("{:<22}", cell(one, column, i) + time);
    }
    text += "\n";
  }
  text += "\n" + details(results) + "\n";
  for (const Column& column : results.columns)
    if (!column.none) text += summary(results, column);
  return text;
}

std::string as_json(const Results& results) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    for (const Column& column : results.columns) {
      Json lines = Json::array();
      for (const Line& line : column.rows[i].lines)
        lines.push_back({{"attempt", line.label}, {"answer", line.verdict}, {"work", line.work}});
      rows.push_back({{"id", results.cases[i].id},
                      {"technique", results.cases[i].technique},
                      {"launcher", column.launcher},
                      {"verdict", cell(results.cases[i], column, i)},
                      {"detail", column.rows[i].detail},
                      {"seconds", column.rows[i].seconds},
                      {"lines", lines}});
    }
  }
  return dump_json({{"user", results.user}, {"seconds", results.seconds}, {"results", rows}}) + "\n";
}

}  // namespace oncelatch::escapes
