#include "elicitation/row_expression.h"

namespace oncelatch::elicitation {

namespace {

bool is_plain(unsigned char c) {
  return c >= 0x80 || c == ' ' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

std::size_t code_point_length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

}  // namespace

std::string row_expression(std::string_view row) {
  std::string result = "^";
  for (const char c : row) result += is_plain(static_cast<unsigned char>(c)) ? c : '.';
  return result + "$";
}

bool row_expression_matches(std::string_view expressed, std::string_view row) {
  std::size_t at = 0;
  for (const char c : expressed) {
    if (at >= row.size()) return false;
    if (is_plain(static_cast<unsigned char>(c))) {
      if (row[at++] != c) return false;
    } else {
      at += code_point_length(static_cast<unsigned char>(row[at]));
    }
  }
  return at == row.size();
}

}  // namespace oncelatch::elicitation
