// The hash chain's arithmetic, pure.
//
//   Digest head = first_link("20261130-153000-k3f9");
//   head = next_link(head, 1, leaf_hash(row_bytes));
//
// Ownership: values. Threads: no state. Failure: none. After fork: sha256_hex and hex allocate.
// Source: RFC 6962 2.1 (leaf form), RFC 7693 (BLAKE2b); docs/AUDIT_FORMAT.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncelatch::audit {

using Digest = std::array<unsigned char, 32>;

// SHA-256(0x00 || bytes).
[[nodiscard]] Digest leaf_hash(std::string_view bytes);
// chain_0 = BLAKE2b-256(key, session id).
[[nodiscard]] Digest first_link(std::string_view session);
// chain_n = BLAKE2b-256(key, chain_{n-1} || le64(n) || leaf_n).
[[nodiscard]] Digest next_link(const Digest& previous, std::uint64_t sequence, const Digest& leaf);

[[nodiscard]] std::string hex(const Digest& digest);
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace oncelatch::audit
