// Bytes in order, from a file or out of a compressed stream. Reading goes forward only.
//
//   std::unique_ptr<ByteReader> bytes = TRY(open_stream(archive.get(), Compression::xz, limits));
//   std::size_t got = TRY(bytes->read(buffer, sizeof buffer));       // 0: the end, and nothing was behind it
//
// Ownership: borrows the descriptor. Threads: one. Failure: Error of stage "verify": what is damaged, doesn't end where
// its stream does, or unpacks to more than its share. Units: bytes. After fork: not used. Source: liblzma, zlib,
// libzstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"

namespace oncelatch::verify {

class ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;
  virtual ~ByteReader() = default;
  // At most so many; 0 at the end only.
  [[nodiscard]] virtual Result<std::size_t> read(char* into, std::size_t size) = 0;
};

enum class Compression { xz, gzip, zstd };

struct StreamLimits {
  std::uint64_t bytes = std::uint64_t{2} << 30;     // that come out
  std::uint64_t ratio = 200;                        // of what comes out to what goes in
  std::uint64_t memory = std::uint64_t{256} << 20;  // of the decoder
};

// One stream, from the file's beginning to its end.
[[nodiscard]] Result<std::unique_ptr<ByteReader>> open_stream(int file, Compression compression,
                                                              const StreamLimits& limits);

}  // namespace oncelatch::verify
