#include "verify/byte_reader.h"

#include <fmt/format.h>
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cerrno>

namespace oncelatch::verify {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 20;  // no ratio is counted below
constexpr int kLargestWindow = 27;                            // zstd: 128 MiB

Failure damaged(const std::string& what) {
  return fail("verify", "the archive", what, "nothing of it was kept; get it again");
}

enum class Step { more, end, failed };

// What the three libraries have in common: input is fed in chunks, and one stream fills the whole file.
class Stream : public ByteReader {
 public:
  Stream(int file, const StreamLimits& limits) : file_(file), limits_(limits) {}

  Result<std::size_t> read(char* into, std::size_t size) override {
    std::size_t made = 0;
    while (made == 0 && !ended_) {
      if (used_ == filled_) TRY(fill());
      std::size_t taken = 0;
      const Step step = decode(input_.data() + used_, filled_ - used_, taken, into, size, made);
      used_ += taken;
      out_ += made;
      if (step == Step::failed) return damaged(words());
      if (out_ > limits_.bytes) return damaged(fmt::format("unpacks to more than {} bytes", limits_.bytes));
      if (out_ > kFreeBytes && out_ / limits_.ratio > in_)
        return damaged(fmt::format("unpacks to more than {} times its size", limits_.ratio));
      if (step == Step::end) TRY(end());
      if (step == Step::more && made == 0 && taken == 0 && at_end_) return damaged("ends in the middle");
    }
    return made;
  }

 protected:
  virtual Step decode(const char* from, std::size_t size, std::size_t& taken, char* into, std::size_t room,
                      std::size_t& made) = 0;
  [[nodiscard]] virtual std::string words() const = 0;
  [[nodiscard]] const StreamLimits& limits() const { return limits_; }
  [[nodiscard]] bool at_end() const { return at_end_; }

 private:
  Status fill() {
    for (;;) {
      const ssize_t got = ::pread(file_, input_.data(), input_.size(), offset_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno("verify", "the archive", errno, {}, "read");
      used_ = 0;
      filled_ = static_cast<std::size_t>(got);
      offset_ += got;
      in_ += filled_;
      at_end_ = got == 0;
      return {};
    }
  }
  // Nothing is behind it.
  Status end() {
    if (used_ == filled_) TRY(fill());
    if (used_ != filled_) return damaged("has something behind its end");
    ended_ = true;
    return {};
  }

  int file_;
  StreamLimits limits_;
  std::array<char, kChunk> input_;
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  off_t offset_ = 0;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
  bool at_end_ = false;
  bool ended_ = false;
};

class XzStream : public Stream {
 public:
  XzStream(int file, const StreamLimits& limits) : Stream(file, limits) {
    code_ = lzma_stream_decoder(&stream_, limits.memory, 0);  // one stream
  }
  ~XzStream() override { lzma_end(&stream_); }

 protected:
  Step decode(const char* from, std::size_t size, std::size_t& taken, char* into, std::size_t room,
              std::size_t& made) override {
    if (code_ != LZMA_OK) return Step::failed;
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(from);
    stream_.avail_in = size;
    stream_.next_out = reinterpret_cast<std::uint8_t*>(into);
    stream_.avail_out = room;
    code_ = lzma_code(&stream_, LZMA_RUN);
    taken = size - stream_.avail_in;
    made = room - stream_.avail_out;
    if (code_ == LZMA_STREAM_END) return Step::end;
    if (code_ == LZMA_BUF_ERROR) code_ = LZMA_OK;  // needs more
    return code_ == LZMA_OK ? Step::more : Step::failed;
  }
  [[nodiscard]] std::string words() const override {
    if (code_ == LZMA_MEMLIMIT_ERROR) return fmt::format("needs more than {} MiB to unpack", limits().memory >> 20);
    return code_ == LZMA_FORMAT_ERROR ? "isn't in the xz format" : "is damaged (xz)";
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  lzma_ret code_ = LZMA_OK;
};

class GzipStream : public Stream {
 public:
  GzipStream(int file, const StreamLimits& limits) : Stream(file, limits) {
    constexpr int kGzipOnly = 16;
    code_ = inflateInit2(&stream_, kGzipOnly + MAX_WBITS);
  }
  ~GzipStream() override { inflateEnd(&stream_); }

 protected:
  Step decode(const char* from, std::size_t size, std::size_t& taken, char* into, std::size_t room,
              std::size_t& made) override {
    if (code_ != Z_OK) return Step::failed;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from));
    stream_.avail_in = static_cast<uInt>(size);
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(room);
    code_ = inflate(&stream_, Z_NO_FLUSH);
    taken = size - stream_.avail_in;
    made = room - stream_.avail_out;
    if (code_ == Z_STREAM_END) return Step::end;
    if (code_ == Z_BUF_ERROR) code_ = Z_OK;  // needs more
    return code_ == Z_OK ? Step::more : Step::failed;
  }
  [[nodiscard]] std::string words() const override { return "is damaged, or isn't in the gzip format"; }

 private:
  z_stream stream_{};
  int code_ = Z_OK;
};

class ZstdStream : public Stream {
 public:
  ZstdStream(int file, const StreamLimits& limits) : Stream(file, limits), stream_(ZSTD_createDCtx()) {
    if (stream_ != nullptr) code_ = ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestWindow);
  }
  ~ZstdStream() override { ZSTD_freeDCtx(stream_); }

 protected:
  Step decode(const char* from, std::size_t size, std::size_t& taken, char* into, std::size_t room,
              std::size_t& made) override {
    if (stream_ == nullptr || ZSTD_isError(code_) != 0) return Step::failed;
    constexpr std::uint32_t kMagic = 0xFD2FB528;  // a frame that isn't to be skipped
    if (!begun_ && size >= 4) {
      std::uint32_t magic = 0;
      for (int i = 3; i >= 0; --i) magic = magic << 8 | static_cast<unsigned char>(from[i]);
      if (magic != kMagic) return Step::failed;
      begun_ = true;
    }
    ZSTD_inBuffer in{from, size, 0};
    ZSTD_outBuffer out{into, room, 0};
    code_ = ZSTD_decompressStream(stream_, &out, &in);
    taken = in.pos;
    made = out.pos;
    if (ZSTD_isError(code_) != 0) return Step::failed;
    return code_ == 0 ? Step::end : Step::more;
  }
  [[nodiscard]] std::string words() const override { return "is damaged, or isn't in the zstd format"; }

 private:
  ZSTD_DCtx* stream_;
  std::size_t code_ = 0;
  bool begun_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteReader>> open_stream(int file, Compression compression, const StreamLimits& limits) {
  switch (compression) {
    case Compression::xz:
      return std::unique_ptr<ByteReader>(new XzStream(file, limits));
    case Compression::gzip:
      return std::unique_ptr<ByteReader>(new GzipStream(file, limits));
    case Compression::zstd:
      return std::unique_ptr<ByteReader>(new ZstdStream(file, limits));
  }
  return fail("verify", "the archive", "unknown compression");
}

}  // namespace oncelatch::verify
