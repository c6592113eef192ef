// What an installed version consists of: every file's path, mode, size and digest, and where it came from. All versions
// that were ever seen are in one book, `artifacts.lock`, which says what may be started, and that no version changes or
// goes back unnoticed.
//
//   RecordBook book = TRY(parse_book(bytes));
//   const TreeRecord* record = book.installed(book.current);
//   std::string text = print_book(book);                       // the same book gives the same bytes
//
// Ownership: values. Threads: no state. Failure: Error of stage "verify"; a book that isn't exactly of this form is
// refused. Units: bytes, seconds since the epoch, hexadecimal digits. After fork: allocates.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oncelatch::verify {

inline constexpr std::size_t kMostTreeEntries = 4096;
inline constexpr std::size_t kMostTreeDepth = 8;
inline constexpr std::size_t kMostBookBytes = std::size_t{16} << 20;

struct TreeEntry {
  std::string path;  // "kirocli/bin/kiro-cli-chat", below the version's directory
  bool directory = false;
  mode_t mode = 0;  // 0444 or 0555
  std::uint64_t size = 0;
  std::string sha256;  // of a file
  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

struct TreeRecord {
  std::string version;
  std::string source;  // the archive's address, or its file's name
  std::string archive_sha256;
  std::string manifest_sha256;
  std::int64_t first_seen = 0;
  std::vector<TreeEntry> entries;  // by path; none: seen, but not installed
};

struct RecordBook {
  std::string agent;
  std::string current;              // the version that is started; empty: none
  std::vector<TreeRecord> records;  // by version
  [[nodiscard]] const TreeRecord* find(std::string_view version) const;
  [[nodiscard]] const TreeRecord* installed(std::string_view version) const;
  [[nodiscard]] std::string highest() const;  // empty: none was ever seen
  // In place of the one of the same version.
  void put(TreeRecord record);
};

[[nodiscard]] Result<RecordBook> parse_book(std::string_view text);
[[nodiscard]] std::string print_book(const RecordBook& book);
// Components of letters, digits, ".", "_", "+" and "-", at most 128 bytes each, as deep as a tree may be.
[[nodiscard]] bool is_entry_path(std::string_view path);

}  // namespace oncelatch::verify
