#include "redact/forms.h"

#include <sodium.h>
#include <utf8proc.h>

#include <algorithm>

namespace oncelatch::redact {

namespace {

constexpr std::string_view kStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kUpperHex = "0123456789ABCDEF";
constexpr std::string_view kLowerHex = "0123456789abcdef";
constexpr std::size_t kLeastExtended = 8;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void append_hex(WipedText& out, char c, std::string_view digits) {
  auto byte = static_cast<unsigned char>(c);
  out.append(digits[byte >> 4]);
  out.append(digits[byte & 15]);
}

// encodeURIComponent, or form encoding where the space is a plus.
WipedText percent_form(std::string_view raw, std::string_view unreserved, bool plus, std::string_view digits) {
  WipedText out(raw.size() * 3);
  for (char c : raw) {
    if (plus && c == ' ') {
      out.append('+');
    } else if (is_alphanumeric(c) || unreserved.find(c) != std::string_view::npos) {
      out.append(c);
    } else {
      out.append('%');
      append_hex(out, c, digits);
    }
  }
  return out;
}

WipedText hex_form(std::string_view raw, std::string_view digits) {
  WipedText out(raw.size() * 2);
  for (char c : raw) append_hex(out, c, digits);
  return out;
}

// Six bits of `bytes` from bit `at` on; bits past the end are 0.
unsigned six_bits(std::string_view bytes, std::size_t at) {
  auto byte = [bytes](std::size_t index) {
    return index < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[index])) : 0U;
  };
  unsigned pair = (byte(at / 8) << 8) | byte(at / 8 + 1);
  return (pair >> (10 - at % 8)) & 63U;
}

WipedText base64_form(std::string_view raw, std::string_view alphabet, bool padded) {
  WipedText out(raw.size() * 2 + 4);
  std::size_t digits = (raw.size() * 8 + 5) / 6;
  for (std::size_t i = 0; i < digits; ++i) out.append(alphabet[six_bits(raw, i * 6)]);
  for (; padded && digits % 4 != 0; ++digits) out.append('=');
  return out;
}

// The base64 digits that depend on `raw` alone when `before` bytes (0, 1, 2) of something else stand before it and any
// after it.
WipedText base64_core(std::string_view raw, std::size_t before, std::string_view alphabet) {
  WipedText out(raw.size() * 2 + 4);
  std::size_t first_bit = before == 0 ? 0 : 6 - before * 8 % 6;  // 1 byte: 4 bits belong to a mixed digit, 2 bytes: 2
  for (std::size_t bit = first_bit; bit + 6 <= raw.size() * 8; bit += 6) out.append(alphabet[six_bits(raw, bit)]);
  return out;
}

void add_once(std::vector<WipedText>& forms, WipedText form) {
  bool known =
      std::any_of(forms.begin(), forms.end(), [&form](const WipedText& each) { return each.view() == form.view(); });
  if (!known) forms.push_back(std::move(form));
}

std::vector<WipedText> rule_forms(std::string_view raw) {
  std::vector<WipedText> forms;
  WipedText copy(raw.size());
  copy.append(raw);
  add_once(forms, std::move(copy));
  for (std::string_view digits : {kUpperHex, kLowerHex}) add_once(forms, percent_form(raw, "-_.!~*'()", false, digits));
  for (std::string_view digits : {kUpperHex, kLowerHex}) add_once(forms, percent_form(raw, "*-._", true, digits));
  for (std::string_view alphabet : {kStandard, kUrlSafe}) {
    for (bool padded : {true, false}) add_once(forms, base64_form(raw, alphabet, padded));
  }
  std::stable_sort(forms.begin(), forms.end(),
                   [](const WipedText& a, const WipedText& b) { return a.view().size() > b.view().size(); });
  return forms;
}

void add_extended(std::vector<WipedText>& forms, WipedText form) {
  if (form.view().size() >= kLeastExtended) add_once(forms, std::move(form));
}

}  // namespace

WipedText& WipedText::operator=(WipedText&& other) noexcept {
  if (this != &other) {
    wipe();
    text_ = std::move(other.text_);
    other.wipe();
  }
  return *this;
}

void WipedText::append(char c) {
  if (text_.size() < text_.capacity()) text_ += c;
}

void WipedText::append(std::string_view text) {
  for (char c : text) append(c);
}

void WipedText::wipe() {
  text_.resize(text_.capacity());
  if (!text_.empty()) sodium_memzero(text_.data(), text_.size());
  text_.clear();
}

Forms Forms::of(const Secret& secret) {
  Forms forms;
  forms.rule = rule_forms(secret.reveal());
  for (const WipedText& form : forms.rule) {
    for (std::size_t before : {0U, 1U, 2U}) {
      for (std::string_view alphabet : {kStandard, kUrlSafe}) {
        add_extended(forms.extended, base64_core(form.view(), before, alphabet));
      }
    }
  }
  for (std::string_view digits : {kUpperHex, kLowerHex})
    add_extended(forms.extended, hex_form(secret.reveal(), digits));
  return forms;
}

std::size_t utf16_units(std::string_view utf8) {
  std::size_t units = 0;
  while (!utf8.empty()) {
    utf8proc_int32_t c = -1;
    utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(utf8.data()),
                                               static_cast<utf8proc_ssize_t>(utf8.size()), &c);
    units += c > 0xFFFF ? 2 : 1;
    utf8.remove_prefix(length > 0 ? static_cast<std::size_t>(length) : 1);
  }
  return units;
}

}  // namespace oncelatch::redact
