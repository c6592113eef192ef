// Fixtures by id: tests/cases/kiro-recordings.json and kiro-panes.json.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "base/json.h"
#include "elicitation/pane.h"

namespace oncelatch::elicitation::testing {

inline Json load_cases(const std::string& name) {
  std::ifstream file(std::string(ONCELATCH_CASES_DIR) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return Json::parse(text.str());
}

inline std::vector<std::string> case_ids(const std::string& name) {
  std::vector<std::string> ids;
  const Json cases = load_cases(name);
  for (const auto& entry : cases.items()) ids.push_back(entry.key());
  return ids;
}

inline std::vector<std::string> recording(const std::string& id) {
  return load_cases("kiro-recordings.json").at(id).at("lines").get<std::vector<std::string>>();
}

inline ScreenText pane_text(const Json& pane) {
  ScreenText text;
  text.rows = pane.at("rows").get<std::vector<std::string>>();
  text.columns = pane.at("columns").get<std::size_t>();
  return text;
}

}  // namespace oncelatch::elicitation::testing
