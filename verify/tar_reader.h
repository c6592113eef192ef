// A tar archive, walked strictly: every header is checked, what isn't a regular file or a directory ends it, and so
// does anything that two readers could understand differently.
//
//   TarReader tar(*bytes);
//   while (std::optional<ArchiveEntry> entry = TRY(tar.next())) {
//     while (std::size_t got = TRY(tar.read(buffer, sizeof buffer))) …          // of a file, to its end
//   }
//
// Ownership: borrows the reader. Threads: one. Failure: Error of stage "verify" that names the entry, escaped. Units:
// bytes, mode bits. After fork: not used. Source: POSIX.1-2017 pax, "ustar Interchange Format" and "pax Header Block";
// of GNU's format the long name alone.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "verify/archive_entry.h"
#include "verify/byte_reader.h"

namespace oncelatch::verify {

class TarReader {
 public:
  explicit TarReader(ByteReader& bytes) : bytes_(bytes) {}
  // What is left of the last file is skipped. Nothing: the archive ended as it must.
  [[nodiscard]] Result<std::optional<ArchiveEntry>> next();
  [[nodiscard]] Result<std::size_t> read(char* into, std::size_t size);

 private:
  static constexpr std::size_t kBlock = 512;
  using Block = std::array<char, kBlock>;
  enum class Got { block, end };

  [[nodiscard]] Result<Got> read_block(Block& block);
  [[nodiscard]] Status skip(std::uint64_t size);
  [[nodiscard]] Status end_archive();
  [[nodiscard]] Result<std::string> read_text(std::uint64_t size, const char* what);
  [[nodiscard]] Status take_records(const std::string& text);
  [[nodiscard]] Result<ArchiveEntry> take_entry(const Block& block);

  ByteReader& bytes_;
  std::uint64_t left_ = 0;                      // of the file's content
  std::uint64_t padding_ = 0;                   // behind it
  std::map<std::string, std::string> records_;  // pax, for the next entry
  std::optional<std::string> long_name_;        // GNU, for the next entry
};

}  // namespace oncelatch::verify
