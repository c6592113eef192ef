// What the pre-pass accepts the library accepts too, and the same text comes back.
#include <cstdint>
#include <cstdlib>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  JsonBounds bounds;
  bounds.bytes = std::size_t{1} << 16;
  Result<Json> value = parse_json(text, bounds, "input");
  if (!value) {
    // The only thing left to the library is a number beyond double.
    if (value.error().what.starts_with("byte ") || value.error().what == "a number is out of range") return 0;
    std::abort();
  }
  bounds.bytes = std::size_t{1} << 20;
  std::string once = dump_json(*value);
  Result<Json> again = parse_json(once, bounds, "dumped");
  if (!again || dump_json(*again) != once) std::abort();
  return 0;
}
