// JSON helpers: forgiving typed reads from a scenario object.
//
//   std::string title = text_of(step, "title", "Write File");
//
// Values are ordered so that recorder lines keep the key order of the real product. No function
// throws; a missing key or one of another type yields the fallback. Thread-compatible, no state.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace kiro {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& object, const char* key, const std::string& fallback = "");
long number_of(const Json& object, const char* key, long fallback);
double ratio_of(const Json& object, const char* key, double fallback);
bool flag_of(const Json& object, const char* key, bool fallback);
std::vector<std::string> texts_of(const Json& object, const char* key);  // a string counts as a list of one
const Json& member_of(const Json& object, const char* key);              // a null value when absent
bool has(const Json& object, const char* key);
std::string one_line(const Json& value);  // compact dump, invalid UTF-8 replaced

}  // namespace kiro
