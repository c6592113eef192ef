// A zip archive, read strictly: the list at its end and the headers before each file say the same, the files follow
// each other without a gap from the first byte on, and nothing but regular files and directories is in it.
//
//   ZipReader zip = TRY(ZipReader::open(archive.get(), limits));
//   for (std::size_t i = 0; i < zip.entries().size(); ++i) {
//     TRY(zip.start(i));
//     while (std::size_t got = TRY(zip.read(buffer, sizeof buffer))) …
//   }
//
// Ownership: borrows the descriptor. Threads: one. Failure: Error of stage "verify" that names the entry, escaped; a
// file whose sum or size is wrong fails at its end. Units: bytes. After fork: not used. Source: PKWARE's
// APPNOTE 6.3.10, without ZIP64, encryption, several disks and every method but "stored" and "deflated".
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "verify/archive_entry.h"
#include "verify/byte_reader.h"

namespace oncelatch::verify {

class ZipReader {
 public:
  [[nodiscard]] static Result<ZipReader> open(int file, const StreamLimits& limits);
  ZipReader(ZipReader&& other) noexcept;
  ~ZipReader();
  [[nodiscard]] const std::vector<ArchiveEntry>& entries() const { return entries_; }
  [[nodiscard]] Status start(std::size_t index);
  [[nodiscard]] Result<std::size_t> read(char* into, std::size_t size);

 private:
  struct Place;     // of an entry's content
  struct Inflater;  // of the entry that is read
  ZipReader(int file, const StreamLimits& limits);
  [[nodiscard]] Status read_list();
  [[nodiscard]] Status read_central(const std::string& list, std::uint64_t start);
  [[nodiscard]] Status check_locals(std::uint64_t list_start);
  [[nodiscard]] Result<std::uint64_t> check_local(std::size_t index, std::uint64_t at);
  [[nodiscard]] Result<std::string> bytes_at(std::uint64_t offset, std::uint64_t size) const;

  int file_;
  std::uint64_t file_size_ = 0;
  StreamLimits limits_;
  std::vector<ArchiveEntry> entries_;
  std::vector<Place> places_;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace oncelatch::verify
