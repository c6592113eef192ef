#include "tests/layout/arrow_table.h"

#include <algorithm>
#include <sstream>

namespace oncelatch::layout {
namespace {

constexpr std::string_view kBegin = "<!-- arrows: begin -->";
constexpr std::string_view kEnd = "<!-- arrows: end -->";

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  std::string cell;
  std::getline(stream, cell, '|');  // before the first bar
  while (std::getline(stream, cell, '|')) cells.push_back(trimmed(cell));
  return cells;
}

std::set<std::string> quoted_words(const std::string& cell) {
  std::set<std::string> words;
  std::size_t at = 0;
  while ((at = cell.find('`', at)) != std::string::npos) {
    const std::size_t close = cell.find('`', at + 1);
    if (close == std::string::npos) break;
    words.insert(cell.substr(at + 1, close - at - 1));
    at = close + 1;
  }
  return words;
}

std::optional<int> level_of(const std::string& cell) {
  if (cell.size() != 1 || cell[0] < '0' || cell[0] > '9') return std::nullopt;
  return cell[0] - '0';
}

void read_row(const std::string& line, ArrowTable& table) {
  const std::vector<std::string> cells = cells_of(line);
  if (cells.size() < 3) {
    table.faults.push_back("row without three columns: " + line);
    return;
  }
  const bool heading = cells[0] == "folder" || cells[0].starts_with("---");
  if (heading) return;
  const std::set<std::string> names = quoted_words(cells[0]);
  FolderRow row{.level = level_of(cells[1]),
                .every_room = cells[2].starts_with("every room"),
                .may_include = quoted_words(cells[2])};
  if (names.size() != 1 || (!row.level && cells[1] != "beside")) {
    table.faults.push_back("row without a folder in back quotes or without a level: " + line);
    return;
  }
  if (!table.folders.emplace(*names.begin(), std::move(row)).second) {
    table.faults.push_back("folder with two rows: " + *names.begin());
  }
}

void check_arrows(ArrowTable& table) {
  for (const auto& [folder, row] : table.folders) {
    for (const std::string& target : row.may_include) {
      const auto found = table.folders.find(target);
      if (found == table.folders.end() || !found->second.level) {
        table.faults.push_back("arrow to what is no room: " + folder + " -> " + target);
      } else if (row.level && *found->second.level >= *row.level) {
        table.faults.push_back("arrow that doesn't lead down: " + folder + " -> " + target);
      }
    }
  }
}

}  // namespace

bool ArrowTable::is_room(const std::string& folder) const {
  const auto found = folders.find(folder);
  return found != folders.end() && found->second.level.has_value();
}

bool ArrowTable::allows(const std::string& from, const std::string& to) const {
  if (from == to) return true;
  const auto found = folders.find(from);
  if (found == folders.end()) return false;
  if (found->second.every_room && is_room(to)) return true;
  return found->second.may_include.contains(to);
}

ArrowTable read_arrow_table(std::string_view document) {
  ArrowTable table;
  std::istringstream stream{std::string(document)};
  std::string line;
  bool inside = false;
  bool ended = false;
  while (!ended && std::getline(stream, line)) {
    if (line == kBegin) inside = true;
    ended = inside && line == kEnd;
    if (inside && line.starts_with("|")) read_row(line, table);
  }
  if (!ended) table.faults.emplace_back("no table between its two marks");
  if (table.folders.empty()) table.faults.emplace_back("the table has no rows");
  check_arrows(table);
  return table;
}

}  // namespace oncelatch::layout
