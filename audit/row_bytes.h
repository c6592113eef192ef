// The bytes of one row: canonical JSON, keys sorted, exactly
//
//   {"body":BODY,"kind":"KIND","sequence":N,"session":"SESSION","time":"TIME"}
//
//   std::string bytes = row_bytes(row);
//   std::optional<RowParts> parts = split_row(bytes, session, sequence);
//
// Ownership: RowParts views the bytes it was split from. Threads: no state. Failure: bytes that don't have the form for
// this session and sequence give nullopt; BODY itself isn't parsed. After fork: allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/log.h"

namespace oncelatch::audit {

constexpr std::size_t most_row_bytes = std::size_t{2} << 20;
constexpr std::size_t most_text_bytes = std::size_t{1} << 20;  // Log::store_text

[[nodiscard]] std::string row_bytes(const Row& row);

struct RowParts {
  std::string_view body;
  std::string_view kind;
  std::string_view time;
};
[[nodiscard]] std::optional<RowParts> split_row(std::string_view bytes, std::string_view session,
                                                std::int64_t sequence);

// [a-z0-9-], 1 to 64 bytes.
[[nodiscard]] bool valid_session_id(std::string_view session);
// [a-z_], 1 to 32 bytes.
[[nodiscard]] bool valid_kind(std::string_view kind);

}  // namespace oncelatch::audit
