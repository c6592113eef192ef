#include "policy/hidden_text.h"

#include <utf8proc.h>

namespace oncelatch::policy {
namespace {

constexpr utf8proc_int32_t kBrailleBlank = 0x2800;

bool is_hidden(utf8proc_int32_t code_point) {
  const utf8proc_property_t* property = utf8proc_get_property(code_point);
  if (property->ignorable || code_point == kBrailleBlank) return true;
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string hidden_text(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 || byte == 0x7f) return "control-character";
    if (byte < 0x80) {
      ++at;
      continue;
    }
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                                                     static_cast<utf8proc_ssize_t>(text.size() - at), &code_point);
    if (length <= 0) return "invalid-utf8";
    if (is_hidden(code_point)) return "hidden-character";
    at += static_cast<std::size_t>(length);
  }
  return {};
}

}  // namespace oncelatch::policy
