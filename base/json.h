// Bounded JSON. Depth, size, node count and duplicate keys are checked by a pre-pass *before* a value is built, since
// the library's own destructor and copy recurse.
//
//   Json value = TRY(parse_json(line, {.bytes = 1 << 20}, "recorder line"));
//   if (const std::string* method = json_string(value, "method")) ...
//
// Ownership: values own their data. Threads: a value. Failure: an Error with stage "json" and the byte offset; the text
// itself is never quoted in it. After fork: allocates. Source: RFC 8259 (strict: no comments, no trailing commas, UTF-8
// only).
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oncelatch {

using Json = nlohmann::json;

struct JsonBounds {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t depth = 64;
  std::size_t nodes = 100'000;
};

// `object` names the thing in the error ("recorder line 7").
[[nodiscard]] Result<Json> parse_json(std::string_view text, const JsonBounds& bounds, std::string object);

// Pointer into `value` when it is an object that has `key` of that type, else nullptr / nullopt.
[[nodiscard]] const std::string* json_string(const Json& value, std::string_view key);
[[nodiscard]] const Json* json_object(const Json& value, std::string_view key);
[[nodiscard]] const Json* json_array(const Json& value, std::string_view key);
[[nodiscard]] std::optional<std::int64_t> json_integer(const Json& value, std::string_view key);

// One line, keys sorted, non-ASCII kept, invalid UTF-8 replaced by U+FFFD, never throws.
[[nodiscard]] std::string dump_json(const Json& value);

}  // namespace oncelatch
