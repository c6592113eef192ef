// Unpacking of an archive that nobody trusts, though its digest is right: regular files and directories with plain
// names, each once, within bounds. The first anomaly ends it; what was made until then is the caller's to remove.
//
//   std::optional<ArchiveFormat> format = archive_format("tarXz");
//   TRY(unpack(archive.get(), *format, staging.get(), {}));
//
// Files get mode 0644 or 0755, the caller's as their owner; nothing else of an entry is taken over. Ownership: borrows
// the descriptors; the directory is empty. Threads: one. Failure: Error of stage "verify" that names the entry,
// escaped. Nothing is synced: the caller does that once. Units: bytes. After fork: not used.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace oncelatch::verify {

enum class ArchiveFormat { tar_xz, tar_gz, tar_zst, zip };

struct UnpackLimits {
  std::size_t entries = 4096;
  std::uint64_t bytes = std::uint64_t{2} << 30;  // of all files together
  std::uint64_t ratio = 200;
};

// As the manifest calls it: "tarXz", "tarGz", "tarZst", "zip".
[[nodiscard]] std::optional<ArchiveFormat> archive_format(std::string_view file_type);
[[nodiscard]] Status unpack(int archive, ArchiveFormat format, int directory, const UnpackLimits& limits);

}  // namespace oncelatch::verify
