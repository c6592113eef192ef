#include "audit/chain.h"

#include <sodium.h>

#include <tuple>

namespace oncelatch::audit {
namespace {

constexpr std::string_view chain_key = "oncelatch.audit.chain.v1";

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

void start_chain_hash(crypto_generichash_state* state) {
  crypto_generichash_init(state, octets(chain_key), chain_key.size(), std::tuple_size<Digest>::value);
}

}  // namespace

Digest leaf_hash(std::string_view bytes) {
  const unsigned char prefix = 0;
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  crypto_hash_sha256_update(&state, &prefix, 1);
  crypto_hash_sha256_update(&state, octets(bytes), bytes.size());
  Digest digest{};
  crypto_hash_sha256_final(&state, digest.data());
  return digest;
}

Digest first_link(std::string_view session) {
  crypto_generichash_state state;
  start_chain_hash(&state);
  crypto_generichash_update(&state, octets(session), session.size());
  Digest digest{};
  crypto_generichash_final(&state, digest.data(), digest.size());
  return digest;
}

Digest next_link(const Digest& previous, std::uint64_t sequence, const Digest& leaf) {
  std::array<unsigned char, 8> number{};
  for (unsigned char& octet : number) {
    octet = static_cast<unsigned char>(sequence & 0xff);
    sequence >>= 8;
  }
  crypto_generichash_state state;
  start_chain_hash(&state);
  crypto_generichash_update(&state, previous.data(), previous.size());
  crypto_generichash_update(&state, number.data(), number.size());
  crypto_generichash_update(&state, leaf.data(), leaf.size());
  Digest digest{};
  crypto_generichash_final(&state, digest.data(), digest.size());
  return digest;
}

std::string hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(digest.size() * 2);
  for (const unsigned char octet : digest) {
    text += digits[octet >> 4];
    text += digits[octet & 0xf];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Digest digest{};
  crypto_hash_sha256(digest.data(), octets(bytes), bytes.size());
  return hex(digest);
}

}  // namespace oncelatch::audit
