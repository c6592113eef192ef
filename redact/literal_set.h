// Finds any of many literals in a text in one pass (chains by a hash of the first two bytes).
//
//   LiteralSet set(std::move(entries));
//   bool found = set.any(text, [](const LiteralSet::Match& match) { return match.owner == 0; });
//
// Ownership: move-only; literals and their index live in Secret memory. Threads: const calls from many threads are
// fine. Failure: none. Units: bytes. After fork: the child must not touch it. Internal to redact/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "redact/forms.h"

namespace oncelatch::redact {

class LiteralSet {
 public:
  struct Entry {
    WipedText text;
    std::size_t owner;  // index of the secret
    bool rule;          // one of the rule's own forms
  };
  struct Match {
    std::size_t at;
    std::size_t size;
    std::size_t owner;
    bool rule;
  };

  LiteralSet() = default;
  explicit LiteralSet(std::vector<Entry> entries);

  [[nodiscard]] std::string_view literal(std::size_t index) const {
    return bytes_->reveal().substr(literals_[index].offset, literals_[index].size);
  }
  [[nodiscard]] std::size_t longest() const { return longest_; }

  // Calls `accept` for every occurrence (they may overlap) until it returns true; true when it did.
  template <class Accept>
  [[nodiscard]] bool any(std::string_view text, const Accept& accept) const {
    if (literals_.empty()) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (at + 1 < text.size() && chain_accepts(text, at, head(bucket(text[at], text[at + 1])), accept)) return true;
      if (chain_accepts(text, at, single_, accept)) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kBuckets = 4096;
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};
  struct Literal {
    std::size_t offset;
    std::size_t size;
    std::size_t owner;
    bool rule;
    std::uint32_t next;
  };

  [[nodiscard]] static std::size_t bucket(char first, char second) {
    return (static_cast<unsigned char>(first) * 61U ^ static_cast<unsigned char>(second)) % kBuckets;
  }
  [[nodiscard]] std::uint32_t head(std::size_t index) const {
    std::uint32_t value = kEnd;
    std::memcpy(&value, heads_->reveal().data() + index * sizeof value, sizeof value);
    return value;
  }
  template <class Accept>
  [[nodiscard]] bool chain_accepts(std::string_view text, std::size_t at, std::uint32_t index,
                                   const Accept& accept) const {
    for (; index != kEnd; index = literals_[index].next) {
      const Literal& each = literals_[index];
      if (text.size() - at < each.size || std::memcmp(text.data() + at, literal(index).data(), each.size) != 0)
        continue;
      if (accept(Match{at, each.size, each.owner, each.rule})) return true;
    }
    return false;
  }

  std::vector<Literal> literals_;
  std::uint32_t single_ = kEnd;  // chain of the literals of one byte
  std::size_t longest_ = 0;
  std::optional<Secret> bytes_;  // all literals, one behind the other
  std::optional<Secret> heads_;  // first literal of each bucket
};

}  // namespace oncelatch::redact
