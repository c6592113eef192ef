// Checks JSON text without building a value: strict RFC 8259 grammar, UTF-8, depth, node count and duplicate keys.
//
//   JsonScanner scanner(text, bounds);
//   if (const char* problem = scanner.scan()) use(problem, scanner.offset());
//
// Ownership: keeps a view of the text. Threads: one scan, one thread. Failure: a fixed phrase and a byte offset;
// nothing of the text. Units: bytes. Own stack, no recursion. After fork: allocates. Internal to base/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace oncelatch {

class JsonScanner {
 public:
  JsonScanner(std::string_view text, const JsonBounds& bounds) : text_(text), bounds_(bounds) {}
  // nullptr when the whole text is one acceptable value.
  [[nodiscard]] const char* scan();
  [[nodiscard]] std::size_t offset() const { return at_; }

 private:
  struct Frame {
    bool object;
    std::size_t first_key;  // index into keys_
  };
  struct Key {
    std::string_view name;  // unescaped
    std::size_t at;
  };
  enum class Expect { value, value_or_end, key, key_or_end, separator };

  const char* step();
  const char* value(char c);
  const char* open(bool object);
  const char* close();
  const char* separator(char c);
  const char* key();
  const char* string(std::string* decoded);
  const char* escape(std::string* decoded);
  const char* unicode_escape(std::string* decoded);
  const char* hex4(std::uint32_t* unit);
  const char* number();
  const char* digits();
  const char* literal(std::string_view word);
  const char* duplicate_key(std::size_t first);
  void skip_space();
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  std::string_view text_;
  JsonBounds bounds_;
  std::size_t at_ = 0;
  std::size_t nodes_ = 0;
  Expect expect_ = Expect::value;
  std::vector<Frame> stack_;
  std::vector<Key> keys_;
  std::deque<std::string> unescaped_;  // keys that were written with escapes
};

}  // namespace oncelatch
