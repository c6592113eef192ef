// Decodes the bytes of a terminal into named keys.
//
//   for (const Key& key : decoder.feed(bytes, monotonic_micros())) ...
//
// Names: enter down up left right esc tab shift-tab backspace ctrl-a … paste focus char. A lone ESC is
// a key once `flush` is called after `deadline`. Knows CSI, SS3, CSI-u keys, bracketed paste and
// focus reports; unknown sequences are swallowed as `other`. No resources, nothing fails.
#pragma once

#include "text.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiro {

struct Key {
  std::string name;
  std::string text;  // what a char or a paste carries
};

class KeyDecoder {
 public:
  std::vector<Key> feed(std::string_view bytes, Micros now);
  std::vector<Key> flush(Micros now);                          // a lone ESC whose time is over
  [[nodiscard]] Micros deadline() const { return deadline_; }  // 0: nothing waits

 private:
  std::optional<Key> next();  // empty: more bytes are needed
  std::optional<Key> sequence();
  std::optional<Key> paste();

  std::string pending_;
  Micros deadline_ = 0;
};

}  // namespace kiro
