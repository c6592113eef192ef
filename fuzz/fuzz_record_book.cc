// The reader of artifacts.lock: nothing crashes, and what it takes is printed as the same book again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "verify/tree_record.h"
#include "verify/version.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch::verify;
  const auto book = parse_book({reinterpret_cast<const char*>(data), size});
  if (!book) {
    require(!book.error().what.empty());
    return 0;
  }
  const std::string text = print_book(*book);
  const auto again = parse_book(text);
  require(again && print_book(*again) == text);
  require(book->current.empty() || book->installed(book->current) != nullptr);
  for (const TreeRecord& record : book->records) {
    require(is_version(record.version));
    for (const TreeEntry& entry : record.entries) require(is_entry_path(entry.path) && entry.path[0] != '/');
  }
  return 0;
}
