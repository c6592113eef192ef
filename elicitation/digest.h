// SHA-256 (libsodium), raw or as 64 lower-case hex digits.
//
// Ownership: values. Threads: no state. Failure: none. After fork: allocates.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace oncelatch::elicitation {

using Digest = std::array<unsigned char, 32>;
[[nodiscard]] Digest digest_of(std::string_view bytes);
[[nodiscard]] std::string digest_hex(std::string_view bytes);

}  // namespace oncelatch::elicitation
