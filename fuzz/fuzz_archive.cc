// The walk of a tar archive and the reading of a zip: nothing crashes, and what they give has a shape.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "verify/tar_reader.h"
#include "verify/zip_reader.h"

namespace {

using namespace oncelatch;
using namespace oncelatch::verify;

void require(bool holds) {
  if (!holds) std::abort();
}

class Bytes : public ByteReader {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  Result<std::size_t> read(char* into, std::size_t size) override {
    const std::size_t got = std::min(size, left_);
    std::memcpy(into, data_, got);
    data_ += got;
    left_ -= got;
    return got;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

void walk_tar(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  TarReader tar(bytes);
  char buffer[4096];
  for (;;) {
    const auto entry = tar.next();
    if (!entry || !*entry) return;
    require((*entry)->path.find('\0') == std::string::npos);
    require(!(*entry)->directory || (*entry)->size == 0);
    std::uint64_t read = 0;
    for (;;) {
      const auto got = tar.read(buffer, sizeof buffer);
      if (!got) return;
      if (*got == 0) break;
      read += *got;
    }
    require(read == (*entry)->size);
  }
}

void walk_zip(const std::uint8_t* data, std::size_t size) {
  const Fd file(::memfd_create("archive", MFD_CLOEXEC));
  if (!file || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return;
  auto zip = ZipReader::open(file.get(), {.bytes = 1 << 20, .ratio = 200});
  char buffer[4096];
  for (std::size_t i = 0; zip && i < zip->entries().size(); ++i) {
    std::uint64_t read = 0;
    if (!zip->start(i)) return;
    for (;;) {
      const auto got = zip->read(buffer, sizeof buffer);
      if (!got) return;
      if (*got == 0) break;
      read += *got;
    }
    require(read == zip->entries()[i].size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  walk_tar(data, size);
  walk_zip(data, size);
  return 0;
}
