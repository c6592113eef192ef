#include "policy/rules.h"

#include <openssl/evp.h>

#include <array>

#include "policy/evaluate.h"
#include "policy/rules_loader.h"

namespace oncelatch::policy {
namespace {

Result<std::string> sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    return fail("policy", "sha256", "the digest can't be computed");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (unsigned at = 0; at < size; ++at) {
    hex += kDigits[digest[at] >> 4];
    hex += kDigits[digest[at] & 15];
  }
  return hex;
}

}  // namespace

Result<Rules> Rules::parse(std::string_view text, std::string_view origin) {
  LoadedRules loaded = TRY(load_rules(text, origin));
  Rules rules;
  rules.rules_ = std::move(loaded.rules);
  rules.default_ = loaded.default_effect;
  rules.text_ = text;
  rules.sha256_ = TRY(sha256_hex(text));
  return rules;
}

Decision decide(const Rules& rules, const PermissionRequest& request, const Facts& facts) {
  Decision decision = evaluate(rules.all(), rules.default_effect(), request, facts);
  decision.policy_sha256 = rules.sha256();
  return decision;
}

}  // namespace oncelatch::policy
