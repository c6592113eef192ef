#include "json.h"

namespace kiro {

const Json& member_of(const Json& object, const char* key) {
  static const Json absent;
  if (!object.is_object()) return absent;
  const auto found = object.find(key);
  return found == object.end() ? absent : *found;
}

bool has(const Json& object, const char* key) {
  return object.is_object() && object.contains(key);
}

std::string text_of(const Json& object, const char* key, const std::string& fallback) {
  const Json& value = member_of(object, key);
  return value.is_string() ? value.get<std::string>() : fallback;
}

long number_of(const Json& object, const char* key, long fallback) {
  const Json& value = member_of(object, key);
  return value.is_number_integer() ? value.get<long>() : fallback;
}

double ratio_of(const Json& object, const char* key, double fallback) {
  const Json& value = member_of(object, key);
  return value.is_number() ? value.get<double>() : fallback;
}

bool flag_of(const Json& object, const char* key, bool fallback) {
  const Json& value = member_of(object, key);
  return value.is_boolean() ? value.get<bool>() : fallback;
}

std::vector<std::string> texts_of(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const Json& value = member_of(object, key);
  if (value.is_string()) texts.push_back(value.get<std::string>());
  if (!value.is_array()) return texts;
  for (const Json& entry : value) {
    if (entry.is_string()) texts.push_back(entry.get<std::string>());
  }
  return texts;
}

std::string one_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kiro
