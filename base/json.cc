#include "base/json.h"

#include <fmt/format.h>

#include <limits>

#include "base/json_scanner.h"

namespace oncelatch {

namespace {

const Json* member(const Json& value, std::string_view key) {
  if (!value.is_object()) return nullptr;
  auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonBounds& bounds, std::string object) {
  JsonScanner scanner(text, bounds);
  if (const char* problem = scanner.scan()) {
    return fail("json", std::move(object), fmt::format("byte {}: {}", scanner.offset(), problem));
  }
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return fail("json", std::move(object), "a number is out of range");
  return value;
}

const std::string* json_string(const Json& value, std::string_view key) {
  const Json* found = member(value, key);
  return found == nullptr ? nullptr : found->get_ptr<const std::string*>();
}

const Json* json_object(const Json& value, std::string_view key) {
  const Json* found = member(value, key);
  return found != nullptr && found->is_object() ? found : nullptr;
}

const Json* json_array(const Json& value, std::string_view key) {
  const Json* found = member(value, key);
  return found != nullptr && found->is_array() ? found : nullptr;
}

std::optional<std::int64_t> json_integer(const Json& value, std::string_view key) {
  const Json* found = member(value, key);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned()) {
    auto number = found->get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  }
  return found->get<std::int64_t>();
}

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace oncelatch
