// The names in git's index, for whoever wants to know where git would write.
//
//   IndexNames names(bytes, 20);
//   for (std::string_view name; names.next(name);) …
//   if (names.failed()) "isn't an index that git could have written"
//
// Versions 2 to 4, of the whole or the shared half of a split index; extensions aren't read. Ownership: borrows the
// bytes. Threads: one. Failure: failed(), also where a name can't be one of git's: absolute, or with a component that
// is empty, "." or "..", or spelled like ".git". After fork: allocates. Part of the light program. Source:
// gitformat-index(5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oncelatch::launcher {

class IndexNames {
 public:
  IndexNames(std::string_view bytes, std::size_t hash_size);
  // False: the last was read, or it failed.
  bool next(std::string_view& name);
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  [[nodiscard]] bool take(std::string_view& name);
  [[nodiscard]] bool has_other_half() const;
  [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t size) const;
  std::string_view bytes_;
  std::size_t hash_size_;
  std::size_t at_ = 0;
  std::uint32_t version_ = 0;
  std::uint32_t left_ = 0;
  std::string name_;
  bool nameless_ = false;  // an entry takes the place of one in the other half of a split index, which has its name
  bool failed_ = false;
};

// Of a file in the work tree: what git itself would take.
[[nodiscard]] bool is_name_in_work_tree(std::string_view name);

}  // namespace oncelatch::launcher
