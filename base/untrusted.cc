#include "base/untrusted.h"

#include <utf8proc.h>

#include "base/digits.h"

namespace oncelatch {

namespace {

constexpr int kMostMarks = 4;

struct CodePoint {
  utf8proc_int32_t value;  // -1: one invalid byte
  std::size_t length;
};

CodePoint next_code_point(std::string_view text) {
  utf8proc_int32_t value = -1;
  utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &value);
  if (length <= 0 || value < 0) return {-1, 1};
  return {value, static_cast<std::size_t>(length)};
}

// Letters and marks that draw nothing (Default_Ignorable_Code_Point outside category Cf), and the Braille blank.
// U+FE0F is let through: it only selects the emoji form.
bool is_invisible(utf8proc_int32_t c) {
  return c == 0x034F || c == 0x115F || c == 0x1160 || c == 0x17B4 || c == 0x17B5 || (c >= 0x180B && c <= 0x180F) ||
         c == 0x2800 || c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0E) || c == 0xFFA0 || (c >= 0xE0100 && c <= 0xE01EF);
}

bool must_escape(utf8proc_int32_t c) {
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    case UTF8PROC_CATEGORY_ZS:
      return c != ' ' && c != 0x3000;  // a no-break space looks like a word's end and is none
    default:
      return is_invisible(c);
  }
}

bool is_stacking_mark(utf8proc_int32_t c) {
  utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

void append_escape(std::string& out, utf8proc_int32_t c) {
  switch (c) {
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\\':
      out += "\\\\";
      break;
    default: {
      auto number = static_cast<unsigned>(c);
      out += number < 0x80 ? "\\x" + hexadecimal(number, 2) : "\\u{" + hexadecimal(number) + "}";
    }
  }
}

// Appends one code point; `marks_left` is how many marks may still stand on the base before it.
void append_visible(std::string& out, std::string_view bytes, utf8proc_int32_t c, int& marks_left) {
  bool mark = c >= 0 && is_stacking_mark(c);
  if (c < 0) {
    out += "\\x" + hexadecimal(static_cast<unsigned char>(bytes[0]), 2);
  } else if (c == '\\' || must_escape(c) || (mark && marks_left == 0)) {
    append_escape(out, c);
  } else {
    out += bytes;
    marks_left = mark ? marks_left - 1 : kMostMarks;
    return;
  }
  if (!mark) marks_left = 0;  // a mark would stand on the escape's last letter
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(next_code_point(text).length);
  return count;
}

}  // namespace

std::string escape_for_display(std::string_view text, std::size_t most) {
  std::string out;
  int marks_left = 0;
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == most) {
      out += "…(+" + std::to_string(count_code_points(text)) + ")";
      break;
    }
    CodePoint next = next_code_point(text);
    append_visible(out, text.substr(0, next.length), next.value, marks_left);
    text.remove_prefix(next.length);
  }
  return out;
}

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    CodePoint next = next_code_point(utf8);
    int cells = next.value < 0 ? 1 : utf8proc_charwidth(next.value);
    if (cells > 0) width += static_cast<std::size_t>(cells);
    utf8.remove_prefix(next.length);
  }
  return width;
}

bool valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    CodePoint next = next_code_point(bytes);
    if (next.value < 0) return false;
    bytes.remove_prefix(next.length);
  }
  return true;
}

}  // namespace oncelatch
