#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "redact/redactor.h"

namespace oncelatch::redact {

namespace {

constexpr std::array<std::string_view, 13> kNames = {
    "KIRO_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
};

constexpr std::array<std::string_view, 4> kSuffixes = {"API_KEY", "TOKEN", "SECRET", "PASSWORD"};

// Upper case as far as it can end in ASCII, the only letters the names have; anything else becomes '?'.
std::string upper_case(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    utf8proc_int32_t c = -1;
    utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
                                               static_cast<utf8proc_ssize_t>(name.size()), &c);
    name.remove_prefix(length > 0 ? static_cast<std::size_t>(length) : 1);
    utf8proc_int32_t upper = length > 0 ? utf8proc_toupper(c) : -1;
    if (c == 0xDF) {
      out += "SS";
    } else if (c == 0xFB01) {
      out += "FI";
    } else if (c == 0xFB05 || c == 0xFB06) {
      out += "ST";
    } else {
      out += upper >= 0 && upper < 0x80 ? static_cast<char>(upper) : '?';
    }
  }
  return out;
}

}  // namespace

bool is_credential_name(std::string_view name) {
  std::string upper = upper_case(name);
  if (std::find(kNames.begin(), kNames.end(), upper) != kNames.end()) return true;
  return upper.starts_with("KIRO_") &&
         std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&upper](std::string_view suffix) { return upper.ends_with(suffix); });
}

}  // namespace oncelatch::redact
