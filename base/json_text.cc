#include "base/json_text.h"

#include <utf8proc.h>

#include "base/digits.h"

namespace oncelatch {

void JsonText::separate() {
  if (!first_ && !after_key_) out_ += ',';
  first_ = false;
  after_key_ = false;
}

void JsonText::quote(std::string_view value) {
  out_ += '"';
  while (!value.empty()) {
    utf8proc_int32_t point = -1;
    utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(value.data()),
                                               static_cast<utf8proc_ssize_t>(value.size()), &point);
    bool valid = length > 0 && point >= 0;
    std::size_t size = valid ? static_cast<std::size_t>(length) : 1;
    if (!valid) {
      out_ += "\xEF\xBF\xBD";
    } else if (point == '"' || point == '\\') {
      (out_ += '\\') += static_cast<char>(point);
    } else if (point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029) {
      out_ += "\\u" + hexadecimal(static_cast<std::uint64_t>(point), 4);
    } else {
      out_ += value.substr(0, size);
    }
    value.remove_prefix(size);
  }
  out_ += '"';
}

JsonText& JsonText::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  out_ += bracket;
  first_ = false;
  after_key_ = false;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonText& JsonText::text(std::string_view value) {
  separate();
  quote(value);
  return *this;
}

JsonText& JsonText::number(std::int64_t value) {
  separate();
  out_ += std::to_string(value);
  return *this;
}

JsonText& JsonText::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

}  // namespace oncelatch
