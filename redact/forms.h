// The texts one secret may hide behind.
//
//   Forms forms = Forms::of(secret);
//   for (const WipedText& form : forms.rule) ...
//
// Ownership: WipedText clears its bytes when it ends; move-only. Threads: values. Failure: none. Units: bytes.
// After fork: allocates. Internal to redact/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"

namespace oncelatch::redact {

// Append-only text with a capacity fixed at the start, so that no copy is left behind by growing.
class WipedText {
 public:
  explicit WipedText(std::size_t capacity) { text_.reserve(capacity); }
  WipedText(WipedText&& other) noexcept : text_(std::move(other.text_)) { other.wipe(); }
  WipedText& operator=(WipedText&& other) noexcept;
  WipedText(const WipedText&) = delete;
  WipedText& operator=(const WipedText&) = delete;
  ~WipedText() { wipe(); }

  void append(char c);
  void append(std::string_view text);
  [[nodiscard]] std::string_view view() const { return text_; }

 private:
  void wipe();
  std::string text_;
};

struct Forms {
  std::vector<WipedText> rule;      // raw, percent, form, base64: longest first, each once
  std::vector<WipedText> extended;  // base64 of any of those at every alignment, hexadecimal; at least 8 bytes each

  [[nodiscard]] static Forms of(const Secret& secret);
};

// Length in UTF-16 units; an invalid byte counts as one.
[[nodiscard]] std::size_t utf16_units(std::string_view utf8);

}  // namespace oncelatch::redact
