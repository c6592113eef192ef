#include "elicitation/digest.h"

#include <sodium.h>

namespace oncelatch::elicitation {

Digest digest_of(std::string_view bytes) {
  Digest digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return digest;
}

std::string digest_hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (const unsigned char byte : digest_of(bytes)) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

}  // namespace oncelatch::elicitation
