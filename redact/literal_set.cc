#include "redact/literal_set.h"

#include <sodium.h>

#include <algorithm>

namespace oncelatch::redact {

LiteralSet::LiteralSet(std::vector<Entry> entries) {
  if (entries.empty()) return;
  std::size_t total = 0;
  for (const Entry& entry : entries) total += entry.text.view().size();
  WipedText all(total);
  std::array<std::uint32_t, kBuckets> heads;
  heads.fill(kEnd);
  for (const Entry& entry : entries) {
    std::string_view text = entry.text.view();
    std::uint32_t& first = text.size() == 1 ? single_ : heads[bucket(text[0], text[1])];
    literals_.push_back(Literal{all.view().size(), text.size(), entry.owner, entry.rule, first});
    first = static_cast<std::uint32_t>(literals_.size() - 1);
    all.append(text);
    longest_ = std::max(longest_, text.size());
  }
  bytes_ = Secret::copy_of(all.view());
  heads_ = Secret::copy_of({reinterpret_cast<const char*>(heads.data()), sizeof heads});
  sodium_memzero(heads.data(), sizeof heads);
}

}  // namespace oncelatch::redact
