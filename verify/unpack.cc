#include "verify/unpack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "verify/tar_reader.h"
#include "verify/tree_record.h"
#include "verify/zip_reader.h"

namespace oncelatch::verify {

namespace {

constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kProgramMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr std::size_t kChunk = std::size_t{1} << 18;

using Read = std::function<Result<std::size_t>(char*, std::size_t)>;

Failure refuse(const std::string& path, const std::string& what) {
  return fail("verify", "the archive, " + escape_for_display(path, 200), what, "nothing of it was kept; get it again");
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// What may be made, of all that came before.
class Unpacker {
 public:
  Unpacker(int directory, const UnpackLimits& limits) : directory_(directory), limits_(limits), chunk_(kChunk) {}

  Status take(const ArchiveEntry& entry, const Read& read) {
    if (entry.directory && (entry.path.empty() || entry.path == ".")) return {};  // the archive's own root
    if (++entries_ > limits_.entries) return refuse(entry.path, fmt::format("is one of more than {}", limits_.entries));
    TRY(check(entry));
    TRY(make_parents(entry.path));
    if (entry.directory) return make(entry.path, true);
    bytes_ += entry.size;
    if (entry.size > limits_.bytes || bytes_ > limits_.bytes)
      return refuse(entry.path, fmt::format("brings it to more than {} bytes", limits_.bytes));
    return write(entry, read);
  }

 private:
  Status check(const ArchiveEntry& entry) const {
    if (!is_entry_path(entry.path)) return refuse(entry.path, "has a name that isn't taken");
    if ((entry.mode & 07000) != 0) return refuse(entry.path, fmt::format("mode {:04o}: set-id or sticky", entry.mode));
    if ((entry.mode & 0002) != 0)
      return refuse(entry.path, fmt::format("mode {:04o}: everybody could write it", entry.mode));
    const mode_t least = entry.directory ? 0500 : 0400;
    if ((entry.mode & least) != least)
      return refuse(entry.path, fmt::format("mode {:04o}: closed to its owner", entry.mode));
    if (!seen_.insert(entry.path).second) return refuse(entry.path, "comes twice");
    return {};
  }

  // Those that have no entry before it.
  Status make_parents(const std::string& path) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      TRY(make(path.substr(0, slash), true));
    return {};
  }

  // Names that differ in case only are one name elsewhere.
  Status claim(const std::string& path, bool directory, bool& is_new) {
    const auto [at, made] = made_.emplace(lower(path), Made{path, directory});
    is_new = made;
    if (made) return {};
    if (at->second.path != path) return refuse(path, "differs from another in case only");
    if (!directory || !at->second.directory) return refuse(path, "is a file and a directory");
    return {};
  }

  Status make(const std::string& path, bool directory) {
    bool is_new = false;
    TRY(claim(path, directory, is_new));
    if (!is_new) return {};
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) {
      TRY(make_directory(directory_, path, kDirectoryMode));
      return {};
    }
    const Fd parent = TRY(open_beneath(directory_, path.substr(0, slash), O_RDONLY | O_DIRECTORY));
    TRY(make_directory(parent.get(), path.substr(slash + 1), kDirectoryMode));
    return {};
  }

  Status write(const ArchiveEntry& entry, const Read& read) {
    bool is_new = false;
    TRY(claim(entry.path, false, is_new));
    const mode_t mode = (entry.mode & 0100) != 0 ? kProgramMode : kFileMode;
    const Fd file = TRY(open_beneath(directory_, entry.path, O_WRONLY | O_CREAT | O_EXCL, mode));
    std::uint64_t written = 0;
    for (;;) {
      const std::size_t got = TRY(read(chunk_.data(), chunk_.size()));
      if (got == 0) break;
      written += got;
      if (written > entry.size) return refuse(entry.path, "is longer than it says");
      TRY(write_all(file.get(), {chunk_.data(), got}, entry.path));
    }
    return written == entry.size ? Status() : Status(refuse(entry.path, "is shorter than it says"));
  }

  struct Made {
    std::string path;
    bool directory;
  };
  int directory_;
  UnpackLimits limits_;
  std::vector<char> chunk_;
  std::size_t entries_ = 0;
  std::uint64_t bytes_ = 0;
  mutable std::set<std::string> seen_;  // entries
  std::map<std::string, Made> made_;    // by their name in lower case
};

Status unpack_tar(int archive, Compression compression, const StreamLimits& stream, Unpacker& unpacker) {
  const std::unique_ptr<ByteReader> bytes = TRY(open_stream(archive, compression, stream));
  TarReader tar(*bytes);
  for (;;) {
    const std::optional<ArchiveEntry> entry = TRY(tar.next());
    if (!entry) return {};
    TRY(unpacker.take(*entry, [&](char* into, std::size_t size) { return tar.read(into, size); }));
  }
}

Status unpack_zip(int archive, const StreamLimits& stream, Unpacker& unpacker) {
  ZipReader zip = TRY(ZipReader::open(archive, stream));
  for (std::size_t i = 0; i < zip.entries().size(); ++i) {
    TRY(zip.start(i));
    TRY(unpacker.take(zip.entries()[i], [&](char* into, std::size_t size) { return zip.read(into, size); }));
  }
  return {};
}

}  // namespace

std::optional<ArchiveFormat> archive_format(std::string_view file_type) {
  if (file_type == "tarXz") return ArchiveFormat::tar_xz;
  if (file_type == "tarGz") return ArchiveFormat::tar_gz;
  if (file_type == "tarZst") return ArchiveFormat::tar_zst;
  if (file_type == "zip") return ArchiveFormat::zip;
  return std::nullopt;
}

Status unpack(int archive, ArchiveFormat format, int directory, const UnpackLimits& limits) {
  constexpr std::uint64_t kHeaders = std::uint64_t{16} << 20;  // of a tar archive, beside its files
  Unpacker unpacker(directory, limits);
  const StreamLimits stream{.bytes = limits.bytes + kHeaders, .ratio = limits.ratio};
  switch (format) {
    case ArchiveFormat::tar_xz:
      return unpack_tar(archive, Compression::xz, stream, unpacker);
    case ArchiveFormat::tar_gz:
      return unpack_tar(archive, Compression::gzip, stream, unpacker);
    case ArchiveFormat::tar_zst:
      return unpack_tar(archive, Compression::zstd, stream, unpacker);
    case ArchiveFormat::zip:
      return unpack_zip(archive, stream, unpacker);
  }
  return fail("verify", "the archive", "unknown format");
}

}  // namespace oncelatch::verify
